//! Sizes with units, in bytes.

/// Unit names and their size in bytes.
const UNITS: [(&str, u64); 5] =
    [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("KB", 1_000), ("MB", 1_000_000)];

/// Reads `"64KiB"`, `"1 MiB"`, `"512B"` as bytes. The error says what is wrong and what to write.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let unit = unit.trim_start();
    if number.is_empty() {
        return Err(format!("{text:?} is not a size; write a number with a unit, such as \"64KiB\""));
    }
    if unit.is_empty() {
        return Err(format!(
            "{text:?} has no unit; write \"{number}B\" for bytes or \"{number}KiB\" for kibibytes"
        ));
    }
    let Some(&(_, bytes)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(format!("{text:?} has the unknown unit {unit:?}; units are B, KiB, MiB, KB, MB"));
    };
    Ok(number.parse::<u64>().unwrap_or(u64::MAX).saturating_mul(bytes))
}

/// Bytes for people: `64 KiB`, `1.5 MiB`, `312 B`.
pub fn human_size(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..1_024 => return format!("{bytes} B"),
        1_024..1_048_576 => (1_024, "KiB"),
        1_048_576..1_073_741_824 => (1_048_576, "MiB"),
        _ => (1_073_741_824, "GiB"),
    };
    let tenths = u128::from(bytes) * 10 / unit;
    if tenths.is_multiple_of(10) {
        format!("{} {name}", tenths / 10)
    } else {
        format!("{}.{} {name}", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_carry_units() {
        assert_eq!(parse_size("64KiB"), Ok(65_536));
        assert_eq!(parse_size("1 MiB"), Ok(1_048_576));
        assert_eq!(parse_size("0B"), Ok(0));
        assert!(parse_size("64").unwrap_err().contains("\"64KiB\""));
        assert!(parse_size("64kib").unwrap_err().contains("unknown unit"));
        assert!(parse_size("big").unwrap_err().contains("not a size"));
        assert_eq!(parse_size("99999999999999999999MiB"), Ok(u64::MAX));
    }

    #[test]
    fn sizes_are_shown_with_one_decimal() {
        let shown: Vec<_> = [0, 1_023, 1_024, 1_536, 1 << 30].map(human_size).into();
        assert_eq!(shown, ["0 B", "1023 B", "1 KiB", "1.5 KiB", "1 GiB"]);
    }
}
