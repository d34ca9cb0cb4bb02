//! Names programs and libraries: ELF, PE, Mach-O, Java classes.

use super::integer;
use crate::{OutlineEntry, note};

/// Processors by their number in ELF, PE and Mach-O.
const ELF_MACHINES: [(u16, &str); 11] = [
    (3, "x86"),
    (8, "MIPS"),
    (20, "PowerPC"),
    (21, "PowerPC 64"),
    (22, "S/390"),
    (40, "ARM"),
    (62, "x86-64"),
    (183, "AArch64"),
    (243, "RISC-V"),
    (247, "BPF"),
    (258, "LoongArch"),
];
const PE_MACHINES: [(u16, &str); 4] = [
    (0x14c, "x86"),
    (0x1c4, "ARM"),
    (0x8664, "x86-64"),
    (0xaa64, "AArch64"),
];
const MACH_MACHINES: [(u32, &str); 4] = [
    (7, "x86"),
    (12, "ARM"),
    (0x0100_0007, "x86-64"),
    (0x0100_000c, "AArch64"),
];
/// The PE flag of a library.
const DLL: u16 = 0x2000;
/// The lowest version of a Java class file. Fat Mach-O files begin with the same bytes, but have a
/// lower number there: the number of their architectures.
const JAVA: u32 = 45;

/// Names a program by its first bytes; `None` if its header cannot be read.
pub(super) fn of(head: &[u8]) -> Option<Vec<OutlineEntry>> {
    let text = match head.get(..4)? {
        b"\x7fELF" => elf(head),
        b"\xcf\xfa\xed\xfe" => mach(head),
        b"\xca\xfe\xba\xbe" => java_or_fat(head),
        _ => pe(head),
    };
    text.map(|text| vec![note(text)])
}

fn named<N: PartialEq + Copy>(known: &[(N, &'static str)], number: N) -> &'static str {
    let found = known.iter().find(|(known, _)| *known == number);
    found.map_or("an unknown processor", |(_, name)| name)
}

fn elf(head: &[u8]) -> Option<String> {
    let bits = match head.get(4)? {
        1 => 32,
        2 => 64,
        _ => return None,
    };
    let is_big = *head.get(5)? == 2;
    let short = |at: usize| {
        let bytes = integer(head, at)?;
        Some(match is_big {
            true => u16::from_be_bytes(bytes),
            false => u16::from_le_bytes(bytes),
        })
    };
    let kind = match short(16)? {
        1 => "object file",
        2 => "program",
        3 => "program or library (position-independent)",
        4 => "core dump",
        _ => "file",
    };
    let order = if is_big { ", big-endian" } else { "" };
    let machine = named(&ELF_MACHINES, short(18)?);
    Some(format!("ELF {kind} for {machine}, {bits} bits{order}"))
}

fn pe(head: &[u8]) -> Option<String> {
    let at = usize::try_from(u32::from_le_bytes(integer(head, 0x3c)?)).ok()?;
    if head.get(at..at.checked_add(4)?)? != b"PE\0\0" {
        return None;
    }
    let machine = u16::from_le_bytes(integer(head, at + 4)?);
    let flags = u16::from_le_bytes(integer(head, at + 22)?);
    let kind = if flags & DLL == 0 {
        "program"
    } else {
        "library"
    };
    let machine = named(&PE_MACHINES, machine);
    Some(format!("PE {kind} for Windows on {machine}"))
}

fn mach(head: &[u8]) -> Option<String> {
    let machine = u32::from_le_bytes(integer(head, 4)?);
    let kind = match u32::from_le_bytes(integer(head, 12)?) {
        1 => "object file",
        2 => "program",
        6 | 8 => "library",
        _ => "file",
    };
    let machine = named(&MACH_MACHINES, machine);
    Some(format!("Mach-O {kind} for macOS on {machine}"))
}

fn java_or_fat(head: &[u8]) -> Option<String> {
    let number = u32::from_be_bytes(integer(head, 4)?);
    let major = number & 0xffff;
    Some(match major >= JAVA {
        true => format!("Java class, version {major} (Java {})", major - (JAVA - 1)),
        false => format!("Mach-O program for {number} processors"),
    })
}
