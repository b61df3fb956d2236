// Both ends of a prompt under the control of a spec: the body of the client, and the provider that reads it.

import { ByteBudget } from '../../../../lib/core/byte-budgets.ts'
import type { GatewayError } from '../../../../lib/core/errors.ts'
import type { Body, BodyForm, BodyFraming, Outcome, Sink } from '../../../../lib/core/types.ts'
import { RequestHead } from '../../../../lib/core/head.ts'
import { PromptBody } from '../../../../lib/forward/llm/prompt/prompt.ts'
import type { PromptOptions } from '../../../../lib/forward/llm/prompt/prompt.ts'
import { createWatchedMembers } from '../../../../lib/forward/llm/prompt/prompt-outline.ts'
import type { BodyEdits, PromptOwner } from '../../../../lib/forward/llm/llm-call-types.ts'

/** The body of a client: `first` arrives with the head, the rest when `send` is called. */
export class ClientBody implements Body {
  readonly framing: BodyFraming
  readonly length: number
  readonly calls: string[] = []
  /** The last result of `write`. */
  takes = true
  #sink!: Sink
  readonly #first: readonly (Buffer | 'end')[]

  constructor(framing: BodyFraming, length: number, first: readonly (Buffer | 'end')[]) {
    this.framing = framing
    this.length = length
    this.#first = first
  }

  start(sink: Sink, form: BodyForm): void {
    this.calls.push(`start ${form}`)
    this.#sink = sink
    for (const part of this.#first)
      if (part === 'end') this.end()
      else this.send(part)
  }

  /** Like the shared read buffer: it is overwritten after the write. */
  send(chunk: Buffer | string): boolean {
    const shared = Buffer.concat([Buffer.from('#"'), Buffer.from(chunk), Buffer.from('"#')])
    this.takes = this.#sink.write(shared, 2, shared.length - 2)
    shared.fill('!')
    return this.takes
  }

  end(): void {
    this.#sink.end(null)
  }

  leave(): void {
    this.#sink.cut('client_closed')
  }

  pause(): void {
    this.calls.push('pause')
  }

  resume(): void {
    this.calls.push('resume')
  }

  cancel(): void {
    this.calls.push('cancel')
  }
}

/** Reads a body, and records how it ended. */
export class Provider implements Sink {
  readonly #parts: Buffer[] = []
  state: 'open' | 'ended' | Outcome = 'open'
  /** The result of `write`. */
  hasRoom = true
  writes = 0

  constructor(body: Body) {
    body.start(this, 'content')
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#parts)
  }

  get text(): string {
    return this.bytes.toString()
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    if (this.state !== 'open') throw new Error('bytes after the end')
    if (from === to) throw new Error('an empty write')
    this.writes++
    this.#parts.push(Buffer.from(bytes.subarray(from, to)))
    return this.hasRoom
  }

  end(): void {
    if (this.state !== 'open') throw new Error('ended twice')
    this.state = 'ended'
  }

  cut(outcome: Outcome): void {
    this.state = outcome
  }
}

export class Owner implements PromptOwner {
  readonly calls: string[] = []
  error: GatewayError | null = null
  /** Runs within `ready`. */
  onReady: () => void = () => {}

  ready(): void {
    this.calls.push('ready')
    this.onReady()
  }

  moreKnown(): void {
    this.calls.push('moreKnown')
  }

  failed(error: GatewayError): void {
    this.calls.push('failed')
    this.error = error
  }
}

export const ROOM = 1_000_000

export function headWith(fields: Record<string, string>): RequestHead {
  const head = new RequestHead('', [], 0)
  for (const [name, value] of Object.entries(fields)) head.add(name, value)
  return head
}

export function editsOf(edits: Partial<BodyEdits>): BodyEdits {
  return { set: new Map(), replace: new Map(), defaults: new Map(), usage: 'leave', ...edits }
}

export interface Scene {
  readonly client: ClientBody
  readonly prompt: PromptBody
  readonly owner: Owner
  readonly head: RequestHead
  readonly together: ByteBudget
}

export interface SceneOptions extends Partial<PromptOptions> {
  framing?: BodyFraming
  fields?: Record<string, string>
  /** Members that edits may change. */
  names?: readonly string[]
  /** Arrives with the head. */
  first?: readonly (Buffer | string)[]
  /** Arrives later; given so that the total length is known. */
  later?: readonly (Buffer | string)[]
}

/** A prompt that is not started. */
export function sceneOf(options: SceneOptions): Scene {
  const { framing = 'length', names = [], first = [], later } = options
  const total = [...first, ...(later ?? [])].reduce(
    (sum, part) => sum + Buffer.from(part).length,
    0,
  )
  const parts = first.map((part) => Buffer.from(part))
  const script = later === undefined ? [...parts, 'end' as const] : parts
  const client = new ClientBody(framing, framing === 'length' ? total : -1, script)
  const together = options.sharedBudget ?? new ByteBudget(ROOM)
  const framed: Record<string, string> =
    framing === 'length' ? { 'content-length': String(total) } : {}
  if (framing === 'chunked') framed['transfer-encoding'] = 'chunked'
  const head = headWith({ 'content-type': 'application/json', ...framed, ...options.fields })
  const owner = new Owner()
  const prompt = new PromptBody(
    client,
    head,
    {
      holdFor: options.holdFor ?? 'nothing',
      types: 'json',
      faults: options.faults ?? 'refuse',
      model: options.model ?? null,
      maxHeldBytes: options.maxHeldBytes ?? 100_000,
      maxKeptBytes: options.maxKeptBytes ?? 0,
      sharedBudget: together,
      watchedMembers: createWatchedMembers(names),
    },
    owner,
  )
  return { client, prompt, owner, head, together }
}

/** A prompt that is started. */
export function started(options: SceneOptions): Scene {
  const scene = sceneOf(options)
  scene.prompt.start()
  return scene
}
