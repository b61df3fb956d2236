// V8's sampled heap profile as pprof: where what is alive was allocated.

import { Builder } from './builder.ts'
import type { CallFrame, Span } from './builder.ts'

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
export async function heapPprof(
  profile: SampledHeap | null,
  interval: number,
  span: Span,
): Promise<Buffer> {
  const builder = new Builder(['inuse_objects', 'count'], ['inuse_space', 'bytes'])
  if (profile !== null) new Walk(builder, profile).visit(profile.head, [])
  return builder.finish(interval, span)
}

class Walk {
  readonly #builder: Builder
  readonly #counts = new Map<number, number>()

  constructor(builder: Builder, { samples }: SampledHeap) {
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
