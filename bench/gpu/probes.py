"""The ceilings of a card, and what a launch costs: kernels of a few lines, written as PTX.

`probes(card, tell)` tells each as it is known."""

HEAD = ".version 6.3\n.target sm_75\n.address_size 64\n"
MULTIPROCESSORS, L2_BYTES = 16, 38
REGISTERS = (".reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .f32 %f<64>;\n.reg .b64 %rd<16>;\n")


def entry(body, parameters=1):
    listed = ", ".join(f".param .u64 k_param_{i}" for i in range(parameters))
    loads = "".join(f"ld.param.u64 %rd{i + 1}, [k_param_{i}];\n"
                    f"cvta.to.global.u64 %rd{i + 1}, %rd{i + 1};\n" for i in range(parameters))
    return (f"{HEAD}.visible .entry k({listed})\n{{\n{REGISTERS}{loads}"
            "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\n"
            "mov.u32 %r4, %nctaid.x;\nmad.lo.s32 %r5, %r2, %r3, %r1;\n"
            f"{body}ret;\n}}\n")


def multiply_adds(chains, rounds):
    """A loop of multiply-adds on so many sums at once, eight of each a round."""
    body = "".join(f"mov.f32 %f{i}, 0f3F800000;\n" for i in range(chains))
    body += f"mov.u32 %r6, {rounds};\n$again:\n"
    body += 8 * "".join(f"fma.rn.f32 %f{i}, %f{i}, 0f3F000000, 0f3F800000;\n"
                        for i in range(chains))
    body += "add.s32 %r6, %r6, -1;\nsetp.ne.s32 %p1, %r6, 0;\n@%p1 bra $again;\n"
    body += "".join(f"add.rn.f32 %f0, %f0, %f{i};\n" for i in range(1, chains))
    return entry(body + "mul.wide.u32 %rd3, %r5, 4;\nadd.s64 %rd3, %rd1, %rd3;\n"
                 "st.global.f32 [%rd3], %f0;\n")


def moved(copies, rounds=1):
    """Each thread reads 16 bytes after 16 bytes, a grid apart; it writes them where it copies."""
    body = (f"mov.f32 %f9, 0f00000000;\nmov.u32 %r7, {rounds};\n$round:\nmov.u32 %r6, %r5;\n"
            "mul.lo.s32 %r8, %r3, %r4;\nld.param.u64 %rd9, [k_param_2];\ncvt.u32.u64 %r9, %rd9;\n"
            "$again:\nsetp.ge.u32 %p1, %r6, %r9;\n@%p1 bra $done;\n"
            "mul.wide.u32 %rd4, %r6, 16;\nadd.s64 %rd5, %rd1, %rd4;\n"
            "ld.global.cg.v4.f32 {%f1, %f2, %f3, %f4}, [%rd5];\n")
    body += ("add.s64 %rd6, %rd2, %rd4;\nst.global.v4.f32 [%rd6], {%f1, %f2, %f3, %f4};\n" if copies
             else "add.rn.f32 %f9, %f9, %f1;\nadd.rn.f32 %f9, %f9, %f4;\n")
    body += ("add.s32 %r6, %r6, %r8;\nbra $again;\n$done:\nadd.s32 %r7, %r7, -1;\n"
             "setp.ne.s32 %p2, %r7, 0;\n@%p2 bra $round;\n")
    if not copies:  # a sum that nobody expects is written, so that no read is left out
        body += "setp.eq.f32 %p3, %f9, 0f7149F2CA;\n@%p3 st.global.f32 [%rd2], %f9;\n"
    return entry(body, 3)


def probes(card, tell):
    processors = card.attribute(MULTIPROCESSORS)
    out = card.memory(4 << 20)
    empty = card.kernel(card.module(entry("")), "k")
    for blocks, threads in ((1, 32), (processors, 256), (4 * processors, 128)):
        for calls in (20, 50, 100):
            seconds = card.chain_seconds(
                lambda: card.launch(empty, (blocks, 1, 1), (threads, 1, 1), [out]), calls)
            tell(probe="empty node", blocks=blocks, threads=threads, chain=calls, seconds=seconds)
    for chains, threads in ((16, 256), (16, 512), (8, 512)):
        rounds = 512
        kernel = card.kernel(card.module(multiply_adds(chains, rounds)), "k")
        seconds = card.chain_seconds(
            lambda: card.launch(kernel, (processors, 1, 1), (threads, 1, 1), [out]), 3)
        flops = 2.0 * chains * 8 * rounds * threads * processors
        tell(probe="multiply-adds", sums=chains, threads=threads, seconds=seconds,
             flops=flops / seconds)
    memory(card, tell, processors)


def memory(card, tell, processors):
    """Reads within the cache, and reads and copies of more than it holds."""
    l2 = card.attribute(L2_BYTES)
    big = min(1 << 30, 16 * l2)
    source, target = card.memory(big), card.memory(big)
    for name, copies, size, rounds in (("read in L2", False, l2 // 4, 16), ("read", False, big, 1),
                                       ("copy", True, big, 1)):
        kernel = card.kernel(card.module(moved(copies, rounds)), "k")
        seconds = card.chain_seconds(
            lambda: card.launch(kernel, (4 * processors, 1, 1), (512, 1, 1),
                                [source, target, size // 16]), 4)
        tell(probe=name, bytes=size, seconds=seconds,
             bytes_a_second=(2 if copies else 1) * rounds * size / seconds)
