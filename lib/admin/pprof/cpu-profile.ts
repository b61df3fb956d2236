// V8's CPU profile as pprof: which functions of ours the processor was in, and on which lines.

import type { Profiler } from 'node:inspector'
import { Builder } from './builder.ts'
import type { CallFrame, Span } from './builder.ts'

/** Not time of the processor's. */
const IDLE: ReadonlySet<string> = new Set(['(idle)', '(root)'])

interface Node {
  readonly node: Profiler.ProfileNode
  readonly parent: Node | null
  /** While it was the innermost, in microseconds. */
  time: number
  hits: number
}

export async function cpuPprof(
  profile: Profiler.Profile,
  frequency: number,
  span: Span,
): Promise<Buffer> {
  const builder = new Builder(['samples', 'count'], ['cpu', 'nanoseconds'])
  const nodes = nodesOf(profile)
  measure(profile, nodes)
  for (const one of nodes.values()) addTo(builder, one)
  return builder.finish(Math.round(1e9 / frequency), span)
}

function nodesOf({ nodes }: Profiler.Profile): Map<number, Node> {
  const found = new Map<number, Node>()
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const visit = (node: Profiler.ProfileNode, parent: Node | null): void => {
    const one: Node = { node, parent, time: 0, hits: 0 }
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
function measure({ samples = [], timeDeltas = [] }: Profiler.Profile, nodes: Map<number, Node>) {
  for (const [at, id] of samples.entries()) {
    const one = nodes.get(id)
    if (one === undefined) continue
    one.hits++
    one.time += Math.max(0, timeDeltas[at + 1] ?? timeDeltas[at] ?? 0)
  }
}

/** One sample for each line of the innermost function; for those around it V8 knows no lines but their first. */
function addTo(builder: Builder, { node, parent, time, hits }: Node): void {
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
