//! Time zones: by their IANA names, and that of the machine.

use std::fs;
use std::path::Path;

use jiff::Timestamp as Instant;
use jiff::tz::TimeZone;

use super::system_zone::{LOCALTIME, clocks_of_machine, may_be_read, system_zone};
use super::{Timestamp, is_shown_in_utc};

/// Where Debian keeps the name of the zone that `/etc/localtime` is, perhaps as a copy.
const NAME_OF_LOCALTIME: &str = "/etc/timezone";

/// As many symbolic links as the kernel follows.
const MAX_LINKS: usize = 40;

/// Two zones count as the same if their clocks agree now, and after so many of their next changes, which is ten years and more.
const CHANGES: usize = 20;

/// The time zone of this IANA name; without a name that of the machine.
pub fn time_zone(name: Option<&str>) -> Result<TimeZone, String> {
    let Some(name) = name else { return Ok(clocks_of_machine()) };
    TimeZone::get(name).map_err(|_| {
        format!("{name:?} is not a time zone; write an IANA name such as \"Europe/Berlin\" or \"UTC\"")
    })
}

/// The IANA name of the machine's time zone, which is that of `$TZ`, else the system's. The error tells the zone that has none.
pub fn machine_zone(now: Timestamp) -> Result<String, String> {
    let tz = std::env::var_os("TZ");
    let is_unset = tz.is_none() && !Path::new(LOCALTIME).exists();
    let zone = system_zone().or(is_unset.then_some(TimeZone::UTC));
    // Debian has a zone of the name "localtime", which is whatever the machine's is.
    if let Some(name) = zone.as_ref().and_then(|zone| zone.iana_name()).filter(|name| *name != "localtime") {
        return Ok(name.to_owned());
    }
    let noted = Some(Path::new(NAME_OF_LOCALTIME)).filter(|path| may_be_read(path));
    let noted = noted.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
    let linked = name_of_link(Path::new(LOCALTIME)).unwrap_or_default();
    let mut names = [noted.trim(), linked.as_str(), "UTC"].into_iter();
    let is_it = |name: &&str| {
        let found = TimeZone::get(name).ok();
        zone.as_ref().zip(found).is_some_and(|(zone, found)| agree(zone, &found, now))
    };
    names.find(is_it).map(str::to_owned).ok_or_else(|| match tz {
        Some(tz) => format!("TZ={}", tz.display()),
        None => LOCALTIME.to_owned(),
    })
}

/// The name of the zone to which a chain of symbolic links leads.
fn name_of_link(path: &Path) -> Option<String> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        path = path.parent()?.join(fs::read_link(&path).ok()?);
        if let Some((_, name)) = path.to_str()?.split_once("/zoneinfo/") {
            return Some(name.to_owned());
        }
    }
    None
}

/// Whether the clocks of both zones, of these IANA names, agree from now on.
pub fn are_same_clocks(one: &str, other: &str, now: Timestamp) -> bool {
    let both = || Some((TimeZone::get(one).ok()?, TimeZone::get(other).ok()?));
    one == other || both().is_some_and(|(one, other)| agree(&one, &other, now))
}

/// Whether the screen shows times by the clocks of this zone.
pub fn is_zone_of_screen(name: &str, now: Timestamp) -> bool {
    let screen = if is_shown_in_utc() { TimeZone::UTC } else { clocks_of_machine() };
    TimeZone::get(name).is_ok_and(|zone| agree(&zone, &screen, now))
}

fn agree(one: &TimeZone, other: &TimeZone, now: Timestamp) -> bool {
    let Ok(now) = Instant::from_millisecond(now.0) else { return false };
    let changes = |zone: &TimeZone| {
        let changes = zone.following(now).take(CHANGES).map(|change| change.timestamp());
        changes.collect::<Vec<_>>()
    };
    let moments = [vec![now], changes(one), changes(other)].concat();
    moments.into_iter().all(|at| one.to_offset(at) == other.to_offset(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_of_links_leads_to_the_name_of_a_zone() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::os::unix::fs::symlink("second", path("first")).unwrap();
        std::os::unix::fs::symlink("/usr/share/zoneinfo/Europe/Berlin", path("second")).unwrap();
        std::os::unix::fs::symlink("loop", path("loop")).unwrap();
        fs::write(path("copy"), "").unwrap();
        assert_eq!(name_of_link(&path("first")).as_deref(), Some("Europe/Berlin"));
        assert_eq!((name_of_link(&path("loop")), name_of_link(&path("copy"))), (None, None));
    }

    #[test]
    fn zones_of_two_names_may_have_the_same_clocks() {
        let now = Timestamp(1_700_000_000_000);
        for (one, other, same) in [
            ("UTC", "Etc/UTC", true),
            ("America/New_York", "US/Eastern", true),
            ("Europe/Berlin", "Europe/Paris", true),
            ("Europe/Berlin", "Africa/Lagos", false),
            ("Europe/London", "UTC", false),
            ("America/New_York", "America/Lima", false),
            ("UTC", "No/Where", false),
        ] {
            assert_eq!(are_same_clocks(one, other, now), same, "{one} {other}");
        }
    }
}
