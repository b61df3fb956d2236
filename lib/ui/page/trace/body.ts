// A body of a trace, decoded: as a tree of JSON, as events with their times, as text, or as bytes.

import { html, useEffect, useMemo, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import { bytesText } from '../../../trace-view/amounts.ts'
import { bodyLines, bytesOf, hexLines, readBody } from '../../../trace-view/body-text.ts'
import type { ReadBody } from '../../../trace-view/body-text.ts'
import { factsOf } from '../../../trace-view/snapshots.ts'
import { arrivalsOf } from '../../../trace-view/timed-events.ts'
import { save } from './file.ts'
import { isPacked, unpack } from './unpack.ts'
import type { Unpacked } from './unpack.ts'
import { DataView } from '../parts/data-view.ts'
import type { StepProps } from './details.ts'
import { TraceEvents } from './events.ts'

const MOST_LINES = 3_000
const MOST_LETTERS = 200_000
/** A tree of more than this makes browsers slow; it is shown as text. */
const MOST_TREE_BYTES = 4 * 1024 * 1024

export function TraceBody(props: StepProps): VNode {
  const { steps, at } = props
  const { body } = steps[at]!.event.message
  const { type, encoding } = factsOf(steps, at)
  const bytes = useMemo(() => bytesOf(typeof body === 'string' ? body : ''), [body])
  const unpacked = useUnpacked(bytes, encoding)
  if (unpacked === null) return html`<p class="dim">Unpacking ${encoding}…</p>`
  if (unpacked.kind === 'packed')
    return html`
      <div>
        <p class="note warn">The bytes are shown as they are: ${unpacked.reason}.</p>
        <pre class="block" tabindex="0">${hexLines(bytes).join('\n')}</pre>
      </div>
    `
  return html`
    <${Content} steps=${steps} at=${at} bytes=${unpacked.bytes} type=${type} encoding=${encoding} />
  `
}

/** Null until it is done. */
function useUnpacked(bytes: Uint8Array<ArrayBuffer>, encoding: string): Unpacked | null {
  const [done, set] = useState<Unpacked | null>(null)
  const packed = isPacked(encoding)
  useEffect(() => {
    if (!packed) return undefined
    let isOver = false
    unpack(bytes, encoding).then(
      (unpacked) => !isOver && set(unpacked),
      (error: unknown) => !isOver && set({ kind: 'packed', reason: String(error) }),
    )
    return () => {
      isOver = true
    }
  }, [bytes, encoding])
  return packed ? done : { kind: 'bytes', bytes, isCut: false }
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
  const hasTree = body.kind === 'JSON' && bytes.length <= MOST_TREE_BYTES
  const hasForms = hasTree || body.kind === 'events'
  const packed = isPacked(encoding)
    ? `, unpacked from ${encoding} to ${bytesText(bytes.length)}`
    : ''
  const cut = message['truncated'] === true ? `, cut: the first ${bytesText(bytes.length)}` : ''
  return html`
    <div class="trace-body">
      <div class="row">
        <h3>${body.kind === 'events' ? 'Event stream' : capital(body.kind)}${packed}${cut}</h3>
        <span class="space"></span>
        ${hasForms && html`<${Forms} form=${form} set=${setForm} read=${hasTree ? 'Tree' : 'Events'} />`}
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
          arrivals=${arrivalsOf(isPacked(encoding) ? {} : message)}
        />`
      }
      ${(form === 'text' || !hasForms) && html`<${Lines} bytes=${bytes} body=${body} />`}
    </div>
  `
}

function Forms(props: {
  readonly form: 'read' | 'text'
  readonly set: (form: 'read' | 'text') => void
  readonly read: string
}): VNode {
  const { form, set, read } = props
  const button = (name: 'read' | 'text', words: string): VNode => html`
    <button type="button" aria-pressed=${form === name} onClick=${() => set(name)}>${words}</button>
  `
  return html`<span class="choice" role="group" aria-label="How to show it">
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
  const text = lines.slice(0, MOST_LINES).join('\n')
  const isCut = lines.length > MOST_LINES || text.length > MOST_LETTERS
  return html`
    <div>
      <pre class="block" tabindex="0">${text.slice(0, MOST_LETTERS)}</pre>
      ${isCut && html`<p class="dim">There is more: save the body to see all of it.</p>`}
    </div>
  `
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}
