//! The filter as a program for the kernel's packet filter machine.

use seccompiler::{BpfProgram, sock_filter};

use super::rules::{Range, Verdict};

/// Where the kernel puts what a filter may look at (`struct seccomp_data`).
const CALL: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;
const ARGUMENT_BYTES: u32 = 8;

#[cfg(target_arch = "x86_64")]
const OURS: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const OURS: u32 = 0xc000_00b7;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const KILL: u32 = libc::SECCOMP_RET_KILL_PROCESS;
const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
const UNKNOWN: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();

/// Instructions: load a word, go on elsewhere, compare with a constant, answer.
const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const IF_ANY_BIT: u16 = 0x45;
const ANSWER: u16 = 0x06;

/// A program that gives each call what its range gets. Calls of another architecture, whose numbers mean something else, end
/// the process.
pub(super) fn assemble(ranges: &[Range]) -> BpfProgram {
    let mut program = vec![
        plain(LOAD, ARCHITECTURE),
        branch(IF_EQUAL, OURS, 1, 0),
        plain(ANSWER, KILL),
        plain(LOAD, CALL),
    ];
    program.extend(search(ranges));
    program
}

fn search(ranges: &[Range]) -> BpfProgram {
    match ranges {
        [] => vec![plain(ANSWER, UNKNOWN)],
        [one] => judge(one.verdict),
        _ => {
            let (low, high) = ranges.split_at(ranges.len() / 2);
            let (below, above) = (search(low), search(high));
            let mut program = match u8::try_from(below.len()) {
                Ok(near) => vec![branch(IF_AT_LEAST, high[0].first, near, 0)],
                // Only an unconditional jump reaches further.
                Err(_) => vec![
                    branch(IF_AT_LEAST, high[0].first, 0, 1),
                    plain(JUMP, constant(below.len() as u64)),
                ],
            };
            program.extend(below);
            program.extend(above);
            program
        }
    }
}

fn judge(verdict: Verdict) -> BpfProgram {
    match verdict {
        Verdict::Allow => vec![plain(ANSWER, ALLOW)],
        Verdict::Unknown => vec![plain(ANSWER, UNKNOWN)],
        Verdict::Refuse => vec![plain(ANSWER, REFUSE)],
        Verdict::Kill => vec![plain(ANSWER, KILL)],
        Verdict::OneOf { argument, values } => compare(argument, values, ALLOW, REFUSE),
        Verdict::NoneOf { argument, values } => compare(argument, values, REFUSE, ALLOW),
        Verdict::Without { argument, bits } => vec![
            load_argument(argument),
            branch(
                IF_ANY_BIT,
                bits.iter().fold(0, |all, bit| all | constant(*bit)),
                0,
                1,
            ),
            plain(ANSWER, REFUSE),
            plain(ANSWER, ALLOW),
        ],
    }
}

fn compare(argument: u32, values: &[u64], equal: u32, otherwise: u32) -> BpfProgram {
    let mut program = vec![load_argument(argument)];
    for value in values {
        program.push(branch(IF_EQUAL, constant(*value), 0, 1));
        program.push(plain(ANSWER, equal));
    }
    program.push(plain(ANSWER, otherwise));
    program
}

/// Its low half, which comes first on the architectures we have tables for.
fn load_argument(argument: u32) -> sock_filter {
    plain(LOAD, ARGUMENTS + argument * ARGUMENT_BYTES)
}

fn constant(value: u64) -> u32 {
    u32::try_from(value).expect("the tables' values and a program's length have 32 bits")
}

const fn plain(code: u16, k: u32) -> sock_filter {
    branch(code, k, 0, 0)
}

const fn branch(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{rules, table};

    /// A call as the filter sees it.
    #[derive(Clone, Copy)]
    struct Call {
        architecture: u32,
        number: u32,
        arguments: [u64; 2],
    }

    fn call(number: i64, arguments: [u64; 2]) -> Call {
        Call {
            architecture: OURS,
            number: u32::try_from(number).unwrap(),
            arguments,
        }
    }

    /// The kernel's machine, as far as our programs need it: the answer, and after how many steps.
    fn run(program: &[sock_filter], call: Call) -> (u32, usize) {
        let (mut at, mut steps, mut value) = (0, 0, 0_u32);
        loop {
            let step = &program[at];
            let skip = |is_so: bool| usize::from(if is_so { step.jt } else { step.jf });
            at += 1;
            steps += 1;
            match step.code {
                LOAD => {
                    value = match step.k {
                        CALL => call.number,
                        ARCHITECTURE => call.architecture,
                        16 => u32::try_from(call.arguments[0] & 0xffff_ffff).unwrap(),
                        24 => u32::try_from(call.arguments[1] & 0xffff_ffff).unwrap(),
                        other => panic!("nothing is at {other}"),
                    };
                }
                JUMP => at += usize::try_from(step.k).unwrap(),
                IF_EQUAL => at += skip(value == step.k),
                IF_AT_LEAST => at += skip(value >= step.k),
                IF_ANY_BIT => at += skip(value & step.k != 0),
                ANSWER => return (step.k, steps),
                other => panic!("no instruction {other}"),
            }
        }
    }

    fn answer(call: Call) -> u32 {
        run(&assemble(&rules::ranges()), call).0
    }

    #[test]
    fn every_call_gets_what_its_table_says() {
        const FINE: [u64; 2] = [libc::AF_UNIX.unsigned_abs() as u64, 0];
        for number in (0..1_024).chain([0x4000_0000, 0x4000_0001, 0xffff_ffff]) {
            let expected = if table::ALLOWED.contains(&number) {
                ALLOW
            } else if table::REFUSED.contains(&number) {
                REFUSE
            } else if table::FATAL.contains(&number) {
                KILL
            } else {
                UNKNOWN
            };
            let arguments = if number == libc::SYS_personality {
                [0, 0]
            } else {
                FINE
            };
            assert_eq!(answer(call(number, arguments)), expected, "{number}");
        }
    }

    #[test]
    fn a_call_of_another_architecture_ends_the_process() {
        let foreign = Call {
            architecture: 0x4000_0003,
            ..call(libc::SYS_read, [0; 2])
        };
        assert_eq!(answer(foreign), KILL);
    }

    #[test]
    fn sockets_are_of_the_listed_families_only() {
        for family in 0..64 {
            let listed = table::SOCKET_FAMILIES.contains(&family);
            let expected = if listed { ALLOW } else { REFUSE };
            for number in [libc::SYS_socket, libc::SYS_socketpair] {
                assert_eq!(answer(call(number, [family, 0])), expected, "{family}");
            }
        }
    }

    #[test]
    fn only_known_personalities_are_taken() {
        assert_eq!(answer(call(libc::SYS_personality, [0x4_0000, 0])), ALLOW);
        assert_eq!(answer(call(libc::SYS_personality, [0x40_0000, 0])), REFUSE);
    }

    #[test]
    fn no_process_is_born_into_namespaces_of_its_own() {
        let thread = 0x003d_0f00;
        assert_eq!(answer(call(libc::SYS_clone, [thread, 0])), ALLOW);
        for flag in table::NAMESPACES {
            assert_eq!(answer(call(libc::SYS_clone, [thread | flag, 0])), REFUSE);
        }
    }

    #[test]
    fn nothing_is_put_into_a_terminals_input_whatever_the_high_half_says() {
        assert_eq!(answer(call(libc::SYS_ioctl, [0, libc::TIOCGWINSZ])), ALLOW);
        for request in table::REFUSED_IOCTLS {
            for high in [0, 1 << 32] {
                assert_eq!(answer(call(libc::SYS_ioctl, [0, high | request])), REFUSE);
            }
        }
    }

    #[test]
    fn any_call_is_judged_in_a_few_steps() {
        let program = assemble(&rules::ranges());
        assert!(program.len() < 1_024, "{}", program.len());
        for number in 0..512 {
            let (_, steps) = run(&program, call(number, [0; 2]));
            assert!(steps < 32, "{number} takes {steps}");
        }
    }
}
