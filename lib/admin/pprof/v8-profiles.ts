// Converts V8's CPU and heap profiles to pprof.

import type { Profiler } from 'node:inspector'
import { PprofBuilder } from './pprof-file.ts'
import type { CallFrame, ProfileSpan } from './pprof-file.ts'

/** Frames that use no CPU time. */
const IDLE_FRAMES: ReadonlySet<string> = new Set(['(idle)', '(root)'])

interface CpuProfileNode {
  readonly node: Profiler.ProfileNode
  readonly parent: CpuProfileNode | null
  /** Microseconds in which it was the innermost frame. */
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
  addSampleTimes(profile, nodes)
  for (const node of nodes.values()) addCpuSamples(builder, node)
  return builder.finish(Math.round(1e9 / frequency), span)
}

function buildCpuTree({ nodes }: Profiler.Profile): Map<number, CpuProfileNode> {
  const found = new Map<number, CpuProfileNode>()
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const visit = (node: Profiler.ProfileNode, parent: CpuProfileNode | null): void => {
    const treeNode: CpuProfileNode = { node, parent, time: 0, hits: 0 }
    found.set(node.id, treeNode)
    for (const id of node.children ?? []) {
      const child = byId.get(id)
      if (child !== undefined) visit(child, treeNode)
    }
  }
  // V8 limits stacks to 256 frames, so recursion is safe; its first node is the root.
  if (nodes[0] !== undefined) visit(nodes[0], null)
  return found
}

/** Weighs each sample by the time until the next one: a busy machine takes fewer samples than requested. */
function addSampleTimes(
  { samples = [], timeDeltas = [] }: Profiler.Profile,
  nodes: Map<number, CpuProfileNode>,
) {
  for (const [at, id] of samples.entries()) {
    const node = nodes.get(id)
    if (node === undefined) continue
    node.hits++
    node.time += Math.max(0, timeDeltas[at + 1] ?? timeDeltas[at] ?? 0)
  }
}

/** Adds one sample per line of the innermost function; of its callers V8 knows only the first line. */
function addCpuSamples(builder: PprofBuilder, { node, parent, time, hits }: CpuProfileNode): void {
  const frame = node.callFrame
  if (hits === 0 || isIdle(frame)) return
  const callers: number[] = []
  for (let up = parent; up !== null; up = up.parent)
    if (!isIdle(up.node.callFrame)) callers.push(builder.locationOf(up.node.callFrame))
  const lines = node.positionTicks ?? []
  const allTicks = lines.reduce((sum, { ticks }) => sum + ticks, 0)
  const nanos = time * 1000
  for (const { line, ticks } of lines) {
    const share = ticks / allTicks
    const values = [Math.round(hits * share), Math.round(nanos * share)]
    builder.add([builder.locationOf(frame, line), ...callers], values)
  }
  if (allTicks === 0)
    builder.add([builder.locationOf(frame), ...callers], [hits, Math.round(nanos)])
}

function isIdle({ functionName }: CallFrame): boolean {
  return IDLE_FRAMES.has(functionName)
}

interface HeapNode {
  readonly id: number
  readonly callFrame: CallFrame
  /** Bytes that its samples represent. */
  readonly selfSize: number
  readonly children: readonly HeapNode[]
}

/** V8's sampled heap profile. */
export interface SampledHeap {
  readonly head: HeapNode
  readonly samples: readonly { readonly nodeId: number }[]
}

/**
 * Where live objects were allocated. V8 gives the bytes that a node's samples represent but not the number of objects, so
 * the live samples are counted; one is taken about every `interval` bytes.
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

  /** `callers` from the innermost frame outwards. */
  visit(node: HeapNode, callers: readonly number[]): void {
    const { callFrame, id, selfSize, children } = node
    const isRoot = callFrame.functionName === '(root)'
    const stack = isRoot ? callers : [this.#builder.locationOf(callFrame), ...callers]
    const count = this.#counts.get(id) ?? 0
    if (count > 0 && stack.length > 0) this.#builder.add(stack, [count, Math.round(selfSize)])
    for (const child of children) this.visit(child, stack)
  }
}
