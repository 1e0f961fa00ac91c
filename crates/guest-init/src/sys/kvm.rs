//! The smallest machine KVM can run: one CPU, a few pages of memory, no devices.

use std::fmt;
use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::slice;

use super::check;

const CREATE_VM: libc::c_ulong = 0xae01;
const RUN_AREA_BYTES: libc::c_ulong = 0xae04;
const CREATE_VCPU: libc::c_ulong = 0xae41;
const SET_MEMORY: libc::c_ulong = 0x4020_ae46;
const RUN: libc::c_ulong = 0xae80;
const SET_REGISTERS: libc::c_ulong = 0x4090_ae82;
const GET_SPECIAL_REGISTERS: libc::c_ulong = 0x8138_ae83;
const SET_SPECIAL_REGISTERS: libc::c_ulong = 0x4138_ae84;

const EXIT_IO: u32 = 2;
const EXIT_HALT: u32 = 5;

const MEMORY_BYTES: usize = 0x1_0000;

/// Where tables and the stack lie in the guest's memory.
const PAGE_TABLE: usize = 0x1000;
const DESCRIPTORS: usize = 0x5000;
const INTERRUPTS: usize = 0x6000;
const STACK: u64 = 0xf000;

/// The breakpoint's number among interrupts.
const BREAKPOINT: usize = 3;
const CODE_SELECTOR: u16 = 8;
const DATA_SELECTOR: u16 = 16;

/// Why the guest stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Out { port: u16, byte: u8 },
    Halt,
    Other(u32),
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Out { port, byte } => write!(f, "byte {byte} at port {port}"),
            Self::Halt => f.write_str("a halt"),
            Self::Other(reason) => write!(f, "KVM's exit reason {reason}"),
        }
    }
}

/// `struct kvm_userspace_memory_region`.
#[repr(C)]
struct MemoryRegion {
    slot: u32,
    flags: u32,
    guest_address: u64,
    bytes: u64,
    host_address: u64,
}

/// `struct kvm_regs`: sixteen general registers, the instruction pointer and the flags.
#[repr(C)]
#[derive(Default)]
struct Registers {
    general: [u64; 16],
    instruction: u64,
    flags: u64,
}

/// The stack pointer's place among the general registers.
const STACK_POINTER: usize = 6;

/// `struct kvm_segment`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Segment {
    base: u64,
    limit: u32,
    selector: u16,
    kind: u8,
    present: u8,
    privilege: u8,
    wide: u8,
    code_or_data: u8,
    long: u8,
    granular: u8,
    available: u8,
    unusable: u8,
    padding: u8,
}

/// `struct kvm_dtable`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Table {
    base: u64,
    limit: u16,
    padding: [u16; 3],
}

/// `struct kvm_sregs`.
#[repr(C)]
struct SpecialRegisters {
    cs: Segment,
    data: [Segment; 5],
    tr: Segment,
    ldt: Segment,
    gdt: Table,
    idt: Table,
    cr0: u64,
    cr2: u64,
    cr3: u64,
    cr4: u64,
    cr8: u64,
    efer: u64,
    apic_base: u64,
    interrupts: [u64; 4],
}

/// What `struct kvm_run` begins with; the rest depends on the reason.
#[repr(C)]
struct RunArea {
    requests: [u8; 8],
    reason: u32,
    state: [u32; 5],
    direction: u8,
    size: u8,
    port: u16,
    count: u32,
    data_offset: u64,
}

#[derive(Debug)]
pub(crate) struct VirtualMachine {
    cpu: OwnedFd,
    memory: Mapping,
    area: Mapping,
    _machine: OwnedFd,
}

impl VirtualMachine {
    pub(crate) fn create() -> io::Result<Self> {
        let kvm = File::options().read(true).write(true).open("/dev/kvm")?;
        let machine = owned(control(&kvm, CREATE_VM, 0)?)?;
        let memory = Mapping::anonymous(MEMORY_BYTES)?;
        let region = MemoryRegion {
            slot: 0,
            flags: 0,
            guest_address: 0,
            bytes: MEMORY_BYTES as u64,
            host_address: memory.start as u64,
        };
        control(&machine, SET_MEMORY, (&raw const region) as libc::c_ulong)?;
        let cpu = owned(control(&machine, CREATE_VCPU, 0)?)?;
        let area_bytes = control(&kvm, RUN_AREA_BYTES, 0)?;
        let area_bytes = usize::try_from(area_bytes).map_err(io::Error::other)?;
        if area_bytes < size_of::<RunArea>() {
            return Err(io::Error::other("KVM's run area is too small"));
        }
        let area = Mapping::of(&cpu, area_bytes)?;
        Ok(Self {
            cpu,
            memory,
            area,
            _machine: machine,
        })
    }

    pub(crate) fn memory(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is ours, as long as stated, and the guest does not run while it is borrowed.
        unsafe { slice::from_raw_parts_mut(self.memory.start.cast(), MEMORY_BYTES) }
    }

    /// Sets the CPU up as an operating system leaves it: paging, long mode, one handler for breakpoints.
    pub(crate) fn enter_long_mode(&mut self, entry: u64, handler: u64) -> io::Result<()> {
        const PRESENT_AND_WRITABLE: u64 = 3;
        const LARGE_PAGE: u64 = 0x80;
        const ALWAYS_SET: u64 = 2;
        let mut put = |at: usize, value: u64| {
            self.memory()[at..at + 8].copy_from_slice(&value.to_le_bytes());
        };
        put(PAGE_TABLE, 0x2000 | PRESENT_AND_WRITABLE);
        put(0x2000, 0x3000 | PRESENT_AND_WRITABLE);
        put(0x3000, LARGE_PAGE | PRESENT_AND_WRITABLE);
        put(
            DESCRIPTORS + usize::from(CODE_SELECTOR),
            0x00af_9b00_0000_ffff,
        );
        put(
            DESCRIPTORS + usize::from(DATA_SELECTOR),
            0x00cf_9300_0000_ffff,
        );
        let gate = INTERRUPTS + BREAKPOINT * 16;
        // A present interrupt gate: the handler's low half, the selector, the kind, the handler's next quarter.
        let low = handler & 0xffff | u64::from(CODE_SELECTOR) << 16 | 0x8e << 40;
        put(gate, low | (handler >> 16 & 0xffff) << 48);
        put(gate + 8, handler >> 32);

        // SAFETY: the structure is plain integers, for which zero is a valid value.
        let mut special: SpecialRegisters = unsafe { mem::zeroed() };
        control(
            &self.cpu,
            GET_SPECIAL_REGISTERS,
            (&raw mut special) as libc::c_ulong,
        )?;
        special.cs = segment(CODE_SELECTOR, 0xb, true);
        special.data = [segment(DATA_SELECTOR, 3, false); 5];
        special.gdt = table(DESCRIPTORS, 3 * 8);
        special.idt = table(INTERRUPTS, (BREAKPOINT + 1) * 16);
        special.cr0 = 0x8001_0031;
        special.cr3 = PAGE_TABLE as u64;
        special.cr4 = 0x20;
        special.efer = 0x500;
        control(
            &self.cpu,
            SET_SPECIAL_REGISTERS,
            (&raw const special) as libc::c_ulong,
        )?;

        let mut registers = Registers {
            instruction: entry,
            flags: ALWAYS_SET,
            ..Registers::default()
        };
        registers.general[STACK_POINTER] = STACK;
        control(
            &self.cpu,
            SET_REGISTERS,
            (&raw const registers) as libc::c_ulong,
        )
        .map(drop)
    }

    /// Lets the guest run until it stops.
    pub(crate) fn run(&mut self) -> io::Result<Exit> {
        control(&self.cpu, RUN, 0)?;
        // SAFETY: the area is mapped, at least as long as the structure, and KVM writes to it only while RUN is called.
        let area = unsafe { &*self.area.start.cast::<RunArea>() };
        Ok(match area.reason {
            EXIT_HALT => Exit::Halt,
            EXIT_IO => {
                let offset = usize::try_from(area.data_offset).map_err(io::Error::other)?;
                if offset >= self.area.bytes {
                    return Err(io::Error::other("KVM points outside its run area"));
                }
                Exit::Out {
                    port: area.port,
                    // SAFETY: the offset was checked to lie inside the mapping.
                    byte: unsafe { *self.area.start.cast::<u8>().add(offset) },
                }
            }
            other => Exit::Other(other),
        })
    }
}

fn segment(selector: u16, kind: u8, code: bool) -> Segment {
    Segment {
        base: 0,
        limit: u32::MAX,
        selector,
        kind,
        present: 1,
        privilege: 0,
        wide: u8::from(!code),
        code_or_data: 1,
        long: u8::from(code),
        granular: 1,
        available: 0,
        unusable: 0,
        padding: 0,
    }
}

fn table(at: usize, bytes: usize) -> Table {
    Table {
        base: at as u64,
        limit: u16::try_from(bytes - 1).unwrap_or(u16::MAX),
        padding: [0; 3],
    }
}

#[derive(Debug)]
struct Mapping {
    start: *mut libc::c_void,
    bytes: usize,
}

impl Mapping {
    fn anonymous(bytes: usize) -> io::Result<Self> {
        Self::new(bytes, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1)
    }

    fn of(file: &impl AsRawFd, bytes: usize) -> io::Result<Self> {
        Self::new(bytes, libc::MAP_SHARED, file.as_raw_fd())
    }

    fn new(bytes: usize, flags: libc::c_int, file: libc::c_int) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing of ours.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, file, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { start, bytes })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing points into it any more.
        unsafe { libc::munmap(self.start, self.bytes) };
    }
}

/// The argument is a number, or the address of the structure that the order names.
fn control(
    file: &impl AsRawFd,
    order: libc::c_ulong,
    argument: libc::c_ulong,
) -> io::Result<libc::c_long> {
    // SAFETY: every caller passes the structure that belongs to the order, alive during the call.
    check(unsafe { libc::ioctl(file.as_raw_fd(), order, argument) }.into())
}

fn owned(descriptor: libc::c_long) -> io::Result<OwnedFd> {
    let descriptor = i32::try_from(descriptor).map_err(io::Error::other)?;
    // SAFETY: the kernel just gave us this descriptor; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
