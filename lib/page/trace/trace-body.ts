// A traced body, decoded: as a JSON tree, as events with their times, as text, or as bytes.

import { bytesText, timeText } from '../../trace-view/amounts.ts'
import { bodyLines, bytesOf, hexLines, readBody } from '../../trace-view/body-text.ts'
import type { ReadBody } from '../../trace-view/body-text.ts'
import { factsOf } from '../../trace-view/snapshots.ts'
import { arrivalsOf, streamWords, timedEvents } from '../../trace-view/timed-events.ts'
import type { Arrivals, TimedEvent } from '../../trace-view/timed-events.ts'
import {
  outputTokensOf,
  outputTextOf,
  modelOutputOf,
  tokenRateText,
} from '../../trace-view/model-output.ts'
import type { Step } from '../../trace-view/trace-event.ts'
import { html, useEffect, useMemo, useState } from '../page-view.ts'
import type { VNode } from '../page-view.ts'
import { DataView } from '../parts/data-tree.ts'
import { save } from './trace-files.ts'
import type { StepProps } from './trace-step.ts'

const MAX_LINES = 3_000
const MAX_LENGTH = 200_000
/** A larger tree makes browsers slow; it is shown as text. */
const MAX_TREE_BYTES = 4 * 1024 * 1024

export function TraceBody(props: StepProps): VNode {
  const { steps, at } = props
  const { body } = steps[at]!.event.message
  const { type, encoding } = factsOf(steps, at)
  const bytes = useMemo(() => bytesOf(typeof body === 'string' ? body : ''), [body])
  const decompressed = useDecompressed(bytes, encoding)
  if (decompressed === null) return html`<p class="dim">Decompressing ${encoding}…</p>`
  if (decompressed.kind === 'compressed')
    return html`
      <div>
        <p class="note warn">Shown as raw bytes: ${decompressed.reason}.</p>
        <pre class="block" tabindex="0">${hexLines(bytes).join('\n')}</pre>
      </div>
    `
  return html`
    <${Content}
      steps=${steps}
      at=${at}
      bytes=${decompressed.bytes}
      type=${type}
      encoding=${encoding}
    />
  `
}

/** Null until the body is decompressed. */
function useDecompressed(bytes: Uint8Array<ArrayBuffer>, encoding: string): Decompressed | null {
  const [done, set] = useState<Decompressed | null>(null)
  const compressed = isCompressed(encoding)
  useEffect(() => {
    if (!compressed) return undefined
    let isOver = false
    decompress(bytes, encoding).then(
      (decompressed) => !isOver && set(decompressed),
      (error: unknown) => !isOver && set({ kind: 'compressed', reason: String(error) }),
    )
    return () => {
      isOver = true
    }
  }, [bytes, encoding])
  return compressed ? done : { kind: 'bytes', bytes, isCut: false }
}

interface ContentProps extends StepProps {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly type: string
  readonly encoding: string
}

function Content(props: ContentProps): VNode {
  const { steps, at, bytes, type, encoding } = props
  const body = useMemo(() => readBody(bytes, type), [bytes, type])
  const [form, setForm] = useState<'read' | 'text'>('read')
  const { message } = steps[at]!.event
  const hasTree = body.kind === 'JSON' && bytes.length <= MAX_TREE_BYTES
  const hasForms = hasTree || body.kind === 'events'
  const compressed = isCompressed(encoding)
    ? `, decompressed from ${encoding} to ${bytesText(bytes.length)}`
    : ''
  const cut =
    message['truncated'] === true ? `, truncated to the first ${bytesText(bytes.length)}` : ''
  return html`
    <div class="trace-body">
      <div class="row">
        <h3>
          ${body.kind === 'events' ? 'Event stream' : capitalize(body.kind)}${compressed}${cut}
        </h3>
        <span class="space"></span>
        ${hasForms && html`<${ViewChoice} form=${form} set=${setForm} read=${hasTree ? 'Tree' : 'Events'} />`}
        <button type="button" onClick=${() => save(new Blob([bytes]), 'body.bin')}>
          Save body
        </button>
      </div>
      ${form === 'read' && hasTree && html`<${Tree} text=${body.text} />`}
      ${
        form === 'read' &&
        body.kind === 'events' &&
        html`<${TraceEvents}
          steps=${steps}
          bytes=${bytes}
          arrivals=${arrivalsOf(isCompressed(encoding) ? {} : message)}
        />`
      }
      ${(form === 'text' || !hasForms) && html`<${Lines} bytes=${bytes} body=${body} />`}
    </div>
  `
}

function ViewChoice(props: {
  readonly form: 'read' | 'text'
  readonly set: (form: 'read' | 'text') => void
  readonly read: string
}): VNode {
  const { form, set, read } = props
  const button = (name: 'read' | 'text', words: string): VNode => html`
    <button type="button" aria-pressed=${form === name} onClick=${() => set(name)}>${words}</button>
  `
  return html`<span class="choice" role="group" aria-label="View">
    ${button('read', read)}${button('text', 'Text')}
  </span>`
}

function Tree(props: { readonly text: string }): VNode {
  const value = useMemo<unknown>(() => JSON.parse(props.text), [props.text])
  return html`<div class="block"><${DataView} value=${value} open=${3} name="Body" /></div>`
}

function Lines(props: { readonly bytes: Uint8Array; readonly body: ReadBody }): VNode {
  const { bytes, body } = props
  const lines = useMemo(() => bodyLines(bytes, body), [bytes, body])
  const text = lines.slice(0, MAX_LINES).join('\n')
  const isCut = lines.length > MAX_LINES || text.length > MAX_LENGTH
  return html`
    <div>
      <pre class="block" tabindex="0">${text.slice(0, MAX_LENGTH)}</pre>
      ${isCut && html`<p class="dim">Truncated: save the body to see all of it.</p>`}
    </div>
  `
}

function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

export type Decompressed =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array; readonly isCut: boolean }
  /** Not decompressed, and why. */
  | { readonly kind: 'compressed'; readonly reason: string }

const MAX_DECOMPRESSED_BYTES = 16 * 1024 * 1024

type Format = ConstructorParameters<typeof DecompressionStream>[0]

/** HTTP content codings and the browser's formats; some servers send `deflate` without the zlib frame. */
const FORMATS: ReadonlyMap<string, readonly string[]> = new Map([
  ['gzip', ['gzip']],
  ['x-gzip', ['gzip']],
  ['deflate', ['deflate', 'deflate-raw']],
  ['br', ['brotli']],
  ['zstd', ['zstd']],
])

export function isCompressed(encoding: string): boolean {
  return !['', 'identity'].includes(encoding.trim().toLowerCase())
}

/** A truncated body gives as much as can be decompressed. */
export async function decompress(
  bytes: Uint8Array<ArrayBuffer>,
  encoding: string,
): Promise<Decompressed> {
  const name = encoding.trim().toLowerCase()
  const formats = FORMATS.get(name)
  if (formats === undefined) return { kind: 'compressed', reason: `unknown content coding ${name}` }
  const streams = formats.flatMap(streamOf)
  if (streams.length === 0)
    return { kind: 'compressed', reason: `this browser cannot decompress ${name}` }
  for (const stream of streams) {
    const found = await through(bytes, stream)
    if (found.bytes.length > 0 || bytes.length === 0) return { kind: 'bytes', ...found }
  }
  return { kind: 'compressed', reason: `the body is not ${name}, although its head says so` }
}

/** Null where the browser does not support the format. */
function streamOf(format: string): DecompressionStream[] {
  try {
    return [new DecompressionStream(format as Format)]
  } catch {
    return []
  }
}

async function through(
  bytes: Uint8Array<ArrayBuffer>,
  stream: DecompressionStream,
): Promise<{ bytes: Uint8Array; isCut: boolean }> {
  const parts: Uint8Array[] = []
  let length = 0
  let isCut = false
  const writer = stream.writable.getWriter()
  // The reader gets the same error.
  writer.write(bytes).catch(() => {})
  writer.close().catch(() => {})
  const reader = (stream.readable as ReadableStream<Uint8Array>).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      parts.push(value)
      length += value.length
      if (length < MAX_DECOMPRESSED_BYTES) continue
      isCut = true
      await reader.cancel()
      break
    }
  } catch {
    isCut = true
  }
  return { bytes: joined(parts, length), isCut }
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** Rows shown at first; a button shows more. */
const MAX_ROWS = 100
/** Length of the data in a row. */
const MAX_PREVIEW_LENGTH = 160

function TraceEvents(props: {
  readonly steps: readonly Step[]
  readonly bytes: Uint8Array
  readonly arrivals: Arrivals
}): VNode {
  const { steps, bytes, arrivals } = props
  const { list, step } = arrivals
  const timed = useMemo(() => timedEvents(bytes, list), [bytes, list])
  const talk = useMemo(() => modelOutputOf(timed.events), [timed])
  const words = talk === null ? '' : tokenRateText(talk, outputTokensOf(steps))
  return html`
    <div class="trace-events">
      ${words !== '' && html`<p><strong>${words}</strong></p>`}
      <p>${streamWords(timed)}</p>
      ${
        step > 1 &&
        html`<p class="dim">
          ${`The stream has so many parts that only every ${step}th has its time: times are up to ${step} parts late.`}
        </p>`
      }
      ${
        talk !== null &&
        html`<details class="trace-fold">
          <summary>Complete text of the model</summary>
          <pre class="block wrap" tabindex="0">${talk.text}${talk.isCut ? '…' : ''}</pre>
        </details>`
      }
      <${EventTable} events=${timed.events} />
      ${timed.left > 0 && html`<p class="dim">${timed.left} more are not shown.</p>`}
    </div>
  `
}

function EventTable(props: { readonly events: readonly TimedEvent[] }): VNode {
  const { events } = props
  const [most, setMost] = useState(MAX_ROWS)
  const longest = useMemo(
    () => events.reduce((top, { gap }) => Math.max(top, gap ?? 0), 0),
    [events],
  )
  const left = events.length - most
  return html`
    <div>
      <ol class="events">
        ${events
          .slice(0, most)
          .map(
            (event, at) =>
              html`<${Row} key=${at} event=${event} number=${at + 1} longest=${longest} />`,
          )}
      </ol>
      ${
        left > 0 &&
        html`<button type="button" onClick=${() => setMost(most + MAX_ROWS)}>
          Show ${Math.min(left, MAX_ROWS)} more of ${left}
        </button>`
      }
    </div>
  `
}

function Row(props: {
  readonly event: TimedEvent
  readonly number: number
  readonly longest: number
}): VNode {
  const { event, number, longest } = props
  const [isOpen, setOpen] = useState(false)
  const { kind, name, id, data, at, gap } = event
  const width = longest > 0 && gap !== null ? `${(gap / longest) * 100}%` : '0%'
  return html`
    <li class=${kind}>
      <details
        onToggle=${(toggle: Event) => setOpen((toggle.currentTarget as HTMLDetailsElement).open)}
      >
        <summary>
          <span class="number dim">${number}</span>
          <span class="number">${at === null ? '–' : timeText(at)}</span>
          <span class="gap" title="since the previous event">
            <span class="track" aria-hidden="true"
              ><span class="mark" style=${{ width }}></span
            ></span>
            <span class="number dim">${gap === null ? '' : `+${timeText(gap)}`}</span>
          </span>
          <span class="line">
            <span class="event-name">${nameOf(event)}</span>
            <span class="mono">${previewOf(data)}</span>
          </span>
        </summary>
        ${
          isOpen &&
          html`<div class="block">
            ${id !== null && html`<p class="dim">id ${id}${name === '' ? '' : `, event ${name}`}</p>`}
            <${Data} data=${data} />
          </div>`
        }
      </details>
    </li>
  `
}

/** The model's text in the event, or the start of its data. */
function previewOf(data: string): string {
  const piece = outputTextOf(data)
  return (piece === '' ? data : `“${piece}”`).slice(0, MAX_PREVIEW_LENGTH)
}

function nameOf({ kind, name }: TimedEvent): string {
  if (kind === 'comment') return 'comment'
  return kind === 'rest' ? `${name} truncated`.trim() : name || 'message'
}

function Data(props: { readonly data: string }): VNode {
  const value = useMemo(() => valueIn(props.data), [props.data])
  return html`<${DataView} value=${value} open=${4} name="Data" />`
}

function valueIn(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return data
  }
}
