//! The layer of seccomp: forbids system calls that no build needs and that were used to break out
//! of sandboxes.
//!
//! The filter is written out here: it is a list of numbers and a few calls whose arguments matter.

use super::{Connections, LayerPlacement, Wall};

/// Restricts this thread and its future child processes for good, and returns whether that worked.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) fn restrict(wall: &Wall, standing: LayerPlacement) -> bool {
    let alone = standing == LayerPlacement::Alone;
    filter::install_filter(&filter::RefusedCalls {
        // In a PID namespace of its own, a program can only trace and limit its own processes.
        others: alone,
        // Landlock covers TCP. In a network namespace of its own, a program can only reach itself.
        datagrams: alone && wall.network != Connections::Open,
    })
}

/// Returns `false`: there is no filter for this processor yet.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn restrict(_wall: &Wall, _standing: LayerPlacement) -> bool {
    false
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod filter {
    use std::ffi::c_long;

    use libc::{
        BPF_ABS, BPF_ALU, BPF_AND, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET,
        BPF_W, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS, sock_filter,
        sock_fprog,
    };
    use rustix::thread::set_no_new_privs;

    #[cfg(target_arch = "x86_64")]
    const ARCHITECTURE: u32 = 0xC000_003E;
    #[cfg(target_arch = "aarch64")]
    const ARCHITECTURE: u32 = 0xC000_00B7;
    /// First number of the x32 calls, which are the same calls under other numbers.
    const SECOND_NAMES: u32 = 0x4000_0000;

    /// Offsets at which the kernel puts the call's number, the architecture and the lower half of
    /// arguments.
    const NUMBER: u32 = 0;
    const KIND: u32 = 4;
    const fn argument_offset(n: u32) -> u32 {
        16 + 8 * n
    }

    /// Calls about mounts, namespaces, kernel memory, other processes' memory, the clock and the
    /// machine itself.
    const REFUSED: &[c_long] = &[
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_open_tree,
        libc::SYS_move_mount,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_mount_setattr,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
        libc::SYS_kexec_load,
        libc::SYS_kexec_file_load,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_reboot,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_acct,
        libc::SYS_quotactl,
        libc::SYS_syslog,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_adjtimex,
        libc::SYS_clock_adjtime,
        libc::SYS_sethostname,
        libc::SYS_setdomainname,
        libc::SYS_open_by_handle_at,
        libc::SYS_fanotify_init,
        libc::SYS_vhangup,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_iopl,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_ioperm,
    ];

    /// Calls that inspect or change other processes.
    const TRACING: &[c_long] = &[
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_getfd,
        libc::SYS_kcmp,
    ];

    /// Flags of `clone` for new namespaces.
    const NAMESPACES: i32 = libc::CLONE_NEWNS
        | libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET;

    /// Requests that insert input into a terminal as if the operator had typed it.
    const TYPING: [u32; 2] = [0x5412, 0x541C];
    /// Mask of a socket's type without its flags.
    const TYPE: u32 = 0xF;
    const SOCK_PACKET: i32 = 10;
    /// The value of `PRIO_PROCESS`, whose type differs between systems.
    const ONE_PROCESS: u32 = 0;

    const ALLOW: u32 = SECCOMP_RET_ALLOW;
    const fn return_error(number: i32) -> u32 {
        SECCOMP_RET_ERRNO | number.cast_unsigned()
    }

    /// The groups of calls that are refused in addition to [`REFUSED`].
    pub(super) struct RefusedCalls {
        /// Calls that inspect other processes or slow them down.
        pub(super) others: bool,
        pub(super) datagrams: bool,
    }

    /// Installs the filter for this thread, and returns whether that worked.
    pub(super) fn install_filter(refused: &RefusedCalls) -> bool {
        let mut program = build_program(refused);
        let Ok(len) = u16::try_from(program.len()) else { return false };
        let program = sock_fprog { len, filter: program.as_mut_ptr() };
        set_no_new_privs(true).is_ok() && enter_filter(&program)
    }

    #[expect(unsafe_code, reason = "no crate that is here has a safe call for it")]
    fn enter_filter(program: &sock_fprog) -> bool {
        // SAFETY: the program and its instructions outlive the call, which copies them.
        let entered = unsafe {
            libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                std::ptr::from_ref(program),
                0,
                0,
            )
        };
        entered == 0
    }

    fn build_program(refused: &RefusedCalls) -> Vec<sock_filter> {
        let mut program = vec![
            load_word(KIND),
            build_jump(BPF_JEQ, ARCHITECTURE, 1, 0),
            return_action(SECCOMP_RET_KILL_PROCESS),
            load_word(NUMBER),
        ];
        if cfg!(target_arch = "x86_64") {
            program.extend([
                build_jump(BPF_JGE, SECOND_NAMES, 0, 1),
                return_action(return_error(libc::ENOSYS)),
            ]);
        }
        let tracing = if refused.others { TRACING } else { &[] };
        for &call in REFUSED.iter().chain(tracing) {
            program.extend(when_number(call, vec![refuse_call()]));
        }
        // Its arguments lie in memory that a filter cannot read; every caller falls back to the
        // older call.
        program
            .extend(when_number(libc::SYS_clone3, vec![return_action(return_error(libc::ENOSYS))]));
        let clone = vec![
            load_word(argument_offset(0)),
            build_jump(BPF_JSET, NAMESPACES.cast_unsigned(), 0, 1),
            refuse_call(),
            return_action(ALLOW),
        ];
        program.extend(when_number(libc::SYS_clone, clone));
        program.extend(when_number(libc::SYS_socket, filter_sockets(refused.datagrams)));
        if refused.others {
            program.extend(when_number(libc::SYS_prlimit64, own_limits()));
            program.extend(when_number(libc::SYS_setpriority, own_priority()));
        }
        let mut typing = vec![load_word(argument_offset(1))];
        for request in TYPING {
            typing.extend(when_equal(request, vec![refuse_call()]));
        }
        typing.push(return_action(ALLOW));
        program.extend(when_number(libc::SYS_ioctl, typing));
        program.push(return_action(ALLOW));
        program
    }

    /// Allows local sockets, netlink sockets, and internet sockets except raw ones.
    fn filter_sockets(no_datagrams: bool) -> Vec<sock_filter> {
        let kinds = [libc::SOCK_RAW, SOCK_PACKET].into_iter();
        let kinds = kinds.chain(no_datagrams.then_some(libc::SOCK_DGRAM));
        let mut internet =
            vec![load_word(argument_offset(1)), build_statement(BPF_ALU | BPF_AND | BPF_K, TYPE)];
        for kind in kinds {
            internet.extend(when_equal(kind.cast_unsigned(), vec![refuse_call()]));
        }
        internet.push(return_action(ALLOW));
        let mut sockets = vec![load_word(argument_offset(0))];
        for family in [libc::AF_UNIX, libc::AF_NETLINK] {
            sockets.extend(when_equal(family.cast_unsigned(), vec![return_action(ALLOW)]));
        }
        for family in [libc::AF_INET, libc::AF_INET6] {
            sockets.extend(when_equal(family.cast_unsigned(), internet.clone()));
        }
        sockets.push(return_action(return_error(libc::EAFNOSUPPORT)));
        sockets
    }

    /// Allows setting the limits of the process itself; those of others can only be read.
    fn own_limits() -> Vec<sock_filter> {
        let mut limits = vec![load_word(argument_offset(0))];
        limits.extend(when_equal(0, vec![return_action(ALLOW)]));
        // An address has two halves.
        for half in [0, 4] {
            let address = load_word(argument_offset(2) + half);
            limits.extend([address, build_jump(BPF_JEQ, 0, 1, 0), refuse_call()]);
        }
        limits.push(return_action(ALLOW));
        limits
    }

    /// Allows setting the priority of the process itself.
    fn own_priority() -> Vec<sock_filter> {
        let mut itself = vec![load_word(argument_offset(1))];
        itself.extend(when_equal(0, vec![return_action(ALLOW)]));
        itself.push(refuse_call());
        let mut priority = vec![load_word(argument_offset(0))];
        priority.extend(when_equal(ONE_PROCESS, itself));
        priority.push(refuse_call());
        priority
    }

    fn when_number(call: c_long, then: Vec<sock_filter>) -> Vec<sock_filter> {
        // The numbers of calls are small.
        when_equal(u32::try_from(call).unwrap_or(u32::MAX), then)
    }

    /// Executes `then` if the value loaded last equals `value`; `then` has to end with a return.
    fn when_equal(value: u32, then: Vec<sock_filter>) -> Vec<sock_filter> {
        let past = u8::try_from(then.len()).unwrap_or(u8::MAX);
        std::iter::once(build_jump(BPF_JEQ, value, 0, past)).chain(then).collect()
    }

    fn load_word(at: u32) -> sock_filter {
        build_statement(BPF_LD | BPF_W | BPF_ABS, at)
    }

    fn refuse_call() -> sock_filter {
        return_action(return_error(libc::EPERM))
    }

    fn return_action(answer: u32) -> sock_filter {
        build_statement(BPF_RET | BPF_K, answer)
    }

    fn build_jump(test: u32, value: u32, yes: u8, no: u8) -> sock_filter {
        sock_filter { jt: yes, jf: no, ..build_statement(BPF_JMP | test | BPF_K, value) }
    }

    fn build_statement(code: u32, k: u32) -> sock_filter {
        // The codes of instructions have 16 bits.
        sock_filter { code: u16::try_from(code).unwrap_or_default(), jt: 0, jf: 0, k }
    }
}
