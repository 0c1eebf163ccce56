# Runs a command under a seccomp filter: the number of a call on x86_64 and on aarch64, the filter's steps, the command.
import ctypes, os, platform, struct, sys
number = sys.argv[1 + ["x86_64", "aarch64"].index(platform.machine())]
steps = [[int(word, 0) for word in step.split()] for step in sys.argv[3].replace("CALL", number).split(";")]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
    sys.exit("no filter: " + os.strerror(ctypes.get_errno()))
os.execv(sys.argv[4], sys.argv[4:])
