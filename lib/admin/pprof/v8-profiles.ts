// V8's CPU profile as pprof: which functions of ours the processor was in, and on which lines.

import type { Profiler } from 'node:inspector'
import { PprofBuilder } from './pprof-file.ts'
import type { CallFrame, ProfileSpan } from './pprof-file.ts'

/** Not time of the processor's. */
const IDLE: ReadonlySet<string> = new Set(['(idle)', '(root)'])

interface CpuProfileNode {
  readonly node: Profiler.ProfileNode
  readonly parent: CpuProfileNode | null
  /** While it was the innermost, in microseconds. */
  time: number
  hits: number
}

export async function convertCpuProfile(
  profile: Profiler.Profile,
  frequency: number,
  span: ProfileSpan,
): Promise<Buffer> {
  const builder = new PprofBuilder(['samples', 'count'], ['cpu', 'nanoseconds'])
  const nodes = buildCpuTree(profile)
  measure(profile, nodes)
  for (const one of nodes.values()) addCpuSamples(builder, one)
  return builder.finish(Math.round(1e9 / frequency), span)
}

function buildCpuTree({ nodes }: Profiler.Profile): Map<number, CpuProfileNode> {
  const found = new Map<number, CpuProfileNode>()
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const visit = (node: Profiler.ProfileNode, parent: CpuProfileNode | null): void => {
    const one: CpuProfileNode = { node, parent, time: 0, hits: 0 }
    found.set(node.id, one)
    for (const id of node.children ?? []) {
      const child = byId.get(id)
      if (child !== undefined) visit(child, one)
    }
  }
  // V8 keeps stacks within 256 frames, and its first node is the root.
  if (nodes[0] !== undefined) visit(nodes[0], null)
  return found
}

/** By the time until the next sample: a busy machine takes fewer than were asked for. */
function measure(
  { samples = [], timeDeltas = [] }: Profiler.Profile,
  nodes: Map<number, CpuProfileNode>,
) {
  for (const [at, id] of samples.entries()) {
    const one = nodes.get(id)
    if (one === undefined) continue
    one.hits++
    one.time += Math.max(0, timeDeltas[at + 1] ?? timeDeltas[at] ?? 0)
  }
}

/** One sample for each line of the innermost function; for those around it V8 knows no lines but their first. */
function addCpuSamples(builder: PprofBuilder, { node, parent, time, hits }: CpuProfileNode): void {
  const frame = node.callFrame
  if (hits === 0 || isOutside(frame)) return
  const around: number[] = []
  for (let up = parent; up !== null; up = up.parent)
    if (!isOutside(up.node.callFrame)) around.push(builder.locationOf(up.node.callFrame))
  const ticks = node.positionTicks ?? []
  const counted = ticks.reduce((sum, one) => sum + one.ticks, 0)
  const nanos = time * 1000
  for (const { line, ticks: some } of ticks) {
    const share = some / counted
    const values = [Math.round(hits * share), Math.round(nanos * share)]
    builder.add([builder.locationOf(frame, line), ...around], values)
  }
  if (counted === 0) builder.add([builder.locationOf(frame), ...around], [hits, Math.round(nanos)])
}

function isOutside({ functionName }: CallFrame): boolean {
  return IDLE.has(functionName)
}

// V8's sampled heap profile as pprof: where what is alive was allocated.

interface HeapNode {
  readonly id: number
  readonly callFrame: CallFrame
  /** Bytes that its samples stand for. */
  readonly selfSize: number
  readonly children: readonly HeapNode[]
}

/** As V8 tells it. */
export interface SampledHeap {
  readonly head: HeapNode
  readonly samples: readonly { readonly nodeId: number }[]
}

/**
 * V8 tells of each sample how many bytes it stands for, and not how many objects: these are the samples that are alive.
 * One is taken about every `interval` bytes.
 */
export async function convertHeapProfile(
  profile: SampledHeap | null,
  interval: number,
  span: ProfileSpan,
): Promise<Buffer> {
  const builder = new PprofBuilder(['inuse_objects', 'count'], ['inuse_space', 'bytes'])
  if (profile !== null) new HeapWalk(builder, profile).visit(profile.head, [])
  return builder.finish(interval, span)
}

class HeapWalk {
  readonly #builder: PprofBuilder
  readonly #counts = new Map<number, number>()

  constructor(builder: PprofBuilder, { samples }: SampledHeap) {
    this.#builder = builder
    for (const { nodeId } of samples) this.#counts.set(nodeId, (this.#counts.get(nodeId) ?? 0) + 1)
  }

  /** `around` from the innermost out. */
  visit(node: HeapNode, around: readonly number[]): void {
    const { callFrame, id, selfSize, children } = node
    const isRoot = callFrame.functionName === '(root)'
    const stack = isRoot ? around : [this.#builder.locationOf(callFrame), ...around]
    const count = this.#counts.get(id) ?? 0
    if (count > 0 && stack.length > 0) this.#builder.add(stack, [count, Math.round(selfSize)])
    for (const child of children) this.visit(child, stack)
  }
}
