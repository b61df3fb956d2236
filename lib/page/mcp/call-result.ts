// The result of a call: its content blocks, structured content, and the raw response.

import { bytesText } from '../../trace-view/amounts.ts'
import { html, useEffect, useRef, useState } from '../page-view.ts'
import type { ComponentChildren, VNode } from '../page-view.ts'
import { Badge, Copy } from '../parts/elements.ts'
import { DataView } from '../parts/data-tree.ts'
import { latencyText } from '../parts/number-text.ts'
import type { CallProgress } from './mcp-client.ts'
import { errorText, HttpError, membersOf, objectsIn, RpcError, textOf } from './mcp-errors.ts'
import type { Members } from './mcp-errors.ts'
import type { CallState } from './playground-session.ts'

const TICK_MS = 100

export function CallResult(props: { readonly call: CallState; readonly read: Read }): VNode {
  const { call, read } = props
  const place = useRef<HTMLElement>(null)
  const seen = useRef(call.state)
  useEffect(() => {
    // Not for a result that was already here before the page was shown again.
    if (call.state !== 'idle' && call.state !== seen.current)
      place.current?.scrollIntoView({ block: 'nearest' })
    seen.current = call.state
  }, [call.state])
  return html`
    <section class="result" aria-label="Result" aria-live="polite" ref=${place}>
      ${stateView(call, read)}
    </section>
  `
}

function stateView(call: CallState, read: Read): ComponentChildren {
  switch (call.state) {
    case 'idle':
      return null
    case 'running':
      return html`<${Running} since=${call.since} progress=${call.progress} />`
    case 'cancelled':
      return html`<${EndNote} tone="warn" word="cancelled" duration=${call.duration} />`
    case 'failed':
      return html`<${Failed} error=${call.error} duration=${call.duration} />`
    case 'done':
      return html`<${Done} result=${call.result} duration=${call.duration} read=${read} />`
  }
}

function Running(props: { readonly since: number; readonly progress: CallProgress | null }): VNode {
  const { since, progress } = props
  const [now, setNow] = useState(performance.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [])
  const { progress: done, total, message } = progress ?? { progress: 0, total: null, message: '' }
  return html`
    <div class="row" aria-hidden="true">
      <${Badge} tone="accent">running<//>
      <span class="dim number">${latencyText(Math.max(now - since, 0))}</span>
      ${
        progress !== null &&
        html`
          <span class="number">${total === null ? done : `${done} of ${total}`}</span>
          <span class="dim">${message}</span>
        `
      }
    </div>
    <progress
      aria-label="Progress of the call"
      max=${total ?? undefined}
      value=${total === null ? undefined : done}
    ></progress>
  `
}

function EndNote(props: {
  readonly tone: 'good' | 'warn' | 'bad'
  readonly word: string
  readonly duration: number
  readonly children?: ComponentChildren
}): VNode {
  const { tone, word, duration, children } = props
  return html`
    <div class="row ended">
      <${Badge} tone=${tone}>${word}<//>
      <span class="dim number">${latencyText(duration)}</span>
      ${children}
    </div>
  `
}

function Failed(props: { readonly error: unknown; readonly duration: number }): VNode {
  const { error, duration } = props
  const word =
    error instanceof RpcError
      ? `error ${error.code}`
      : error instanceof HttpError
        ? `status ${error.status}`
        : 'no response'
  const data = error instanceof RpcError ? error.data : undefined
  return html`
    <div class="failed">
      <${EndNote} tone="bad" word=${word} duration=${duration} />
      <p class="bad">${errorText(error)}</p>
      ${data !== undefined && html`<${DataView} value=${data} name="Data of the error" />`}
    </div>
  `
}

function Done(props: {
  readonly result: Members
  readonly duration: number
  readonly read: Read
}): VNode {
  const { result, duration, read } = props
  const [as, setAs] = useState<'shown' | 'raw'>('shown')
  const isError = result['isError'] === true
  const failed = objectsIn((result['_meta'] as Members | undefined)?.['gateway/failedTargets'])
  return html`
    <div class=${isError ? 'failed' : ''}>
      <${EndNote}
        tone=${isError ? 'bad' : 'good'}
        word=${isError ? 'the tool failed' : 'ok'}
        duration=${duration}
      >
        <span class="tools">
          <button type="button" onClick=${() => setAs(as === 'raw' ? 'shown' : 'raw')}>
            ${as === 'raw' ? 'Formatted' : 'Raw response'}
          </button>
          <${Copy} text=${JSON.stringify(result, null, 2)} label="Copy JSON" />
        </span>
      <//>
      ${failed.map(
        (one) => html`<p class="warn">${textOf(one['target'])}: ${textOf(one['reason'])}</p>`,
      )}
      ${
        as === 'raw'
          ? html`<${DataView} value=${result} open=${4} name="Result" />`
          : html`<${Parts} result=${result} read=${read} />`
      }
    </div>
  `
}

/** The result of a tool, a prompt or a resource; other members are shown as data. */
function Parts(props: { readonly result: Members; readonly read: Read }): VNode {
  const { content, structuredContent, messages, contents, ...rest } = props.result
  const { _meta: _, isError: _isError, description, ...others } = rest
  const hasOthers = Object.keys(others).length > 0
  return html`
    <div class="parts">
      ${typeof description === 'string' && html`<p class="dim">${description}</p>`}
      ${content !== undefined && html`<${Blocks} of=${content} read=${props.read} />`}
      ${objectsIn(contents).map((one, at) => html`<${Contents} key=${at} of=${one} />`)}
      ${objectsIn(messages).map(
        (one, at) => html`
          <div class="message" key=${at}>
            <${Badge} tone="accent">${textOf(one['role']) || 'unknown role'}<//>
            <${Blocks} of=${[one['content']].flat()} read=${props.read} />
          </div>
        `,
      )}
      ${
        structuredContent !== undefined &&
        html`
          <div class="piece">
            <h3>Structured content</h3>
            <${DataView} value=${structuredContent} open=${4} name="Structured content" />
          </div>
        `
      }
      ${hasOthers && html`<${DataView} value=${others} name="Other members of the result" />`}
    </div>
  `
}

const MAX_BLOCKS = 100
const MAX_TEXT_LENGTH = 20_000
/** Length of base64 text. */
const MAX_IMAGE_LENGTH = 8_388_608
const IMAGES = /^image\/(?:png|jpeg|gif|webp|avif|bmp|svg\+xml)$/

export type Read = (uri: string) => void

/** The content blocks of a tool's result or a prompt's message. */
function Blocks(props: { readonly of: unknown; readonly read: Read }): VNode {
  const all = objectsIn(props.of)
  return html`
    <div class="pieces">
      ${all
        .slice(0, MAX_BLOCKS)
        .map((block, at) => html`<${Block} key=${at} block=${block} read=${props.read} />`)}
      ${all.length > MAX_BLOCKS && html`<p class="dim">… ${all.length - MAX_BLOCKS} more</p>`}
    </div>
  `
}

function Block(props: { readonly block: Members; readonly read: Read }): VNode {
  const { block, read } = props
  const type = textOf(block['type'])
  const mime = textOf(block['mimeType'])
  if (type === 'text') return html`<${Text} text=${textOf(block['text'])} />`
  if (type === 'image') return html`<${Picture} data=${textOf(block['data'])} type=${mime} />`
  if (type === 'audio')
    return html`<${Bytes} what="audio" data=${textOf(block['data'])} type=${mime} />`
  if (type === 'resource_link') return html`<${Link} block=${block} read=${read} />`
  const resource = type === 'resource' ? membersOf(block['resource']) : null
  if (resource !== null) return html`<${Contents} of=${resource} />`
  return html`<div class="piece"><${DataView} value=${block} name="Content" /></div>`
}

/** One part of a resource: text or bytes. */
function Contents(props: { readonly of: Members }): VNode {
  const { uri, mimeType, text, blob } = props.of
  const type = textOf(mimeType)
  return html`
    <div class="contents">
      <div class="row">
        <code class="uri">${textOf(uri)}</code>
        ${type !== '' && html`<${Badge}>${type}<//>`}
      </div>
      ${
        typeof blob === 'string'
          ? html`<${Picture} data=${blob} type=${type} />`
          : html`<${Text} text=${textOf(text)} />`
      }
    </div>
  `
}

function Link(props: { readonly block: Members; readonly read: Read }): VNode {
  const { uri, name, title, description } = props.block
  return html`
    <div class="piece row">
      <span>${textOf(title) || textOf(name)}</span>
      <code class="uri">${textOf(uri)}</code>
      <button type="button" onClick=${() => props.read(textOf(uri))}>Read</button>
      <span class="dim">${textOf(description)}</span>
    </div>
  `
}

function Text(props: { readonly text: string }): VNode {
  const { text } = props
  const data = dataIn(text)
  const [as, setAs] = useState<'text' | 'data'>('text')
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? text : text.slice(0, MAX_TEXT_LENGTH)
  return html`
    <div class="piece">
      <div class="tools">
        ${
          data !== null &&
          html`<button type="button" onClick=${() => setAs(as === 'text' ? 'data' : 'text')}>
            ${as === 'text' ? 'Show as tree' : 'Show as text'}
          </button>`
        }
        <${Copy} text=${text} />
      </div>
      ${
        data !== null && as === 'data'
          ? html`<${DataView} value=${data.value} name="Text as data" />`
          : html`<pre class="wrapped" tabindex="0">${shown === '' ? '(empty)' : shown}</pre>`
      }
      ${
        as === 'text' &&
        shown.length < text.length &&
        html`<button type="button" class="plain" onClick=${() => setWhole(true)}>
          … ${text.length - shown.length} letters more
        </button>`
      }
    </div>
  `
}

/** Many servers put JSON into a text block. */
function dataIn(text: string): { readonly value: unknown } | null {
  if (!/^\s*[[{]/.test(text)) return null
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return null
  }
}

function Picture(props: { readonly data: string; readonly type: string }): ComponentChildren {
  const { data, type } = props
  const [isBroken, setBroken] = useState(false)
  const isShown = IMAGES.test(type) && data.length <= MAX_IMAGE_LENGTH && !isBroken
  if (!isShown) return html`<${Bytes} what="bytes" data=${data} type=${type} />`
  return html`
    <figure class="piece">
      <img
        src=${`data:${type};base64,${data}`}
        alt="What the server sent"
        onError=${() => setBroken(true)}
      />
      <figcaption class="dim">${type}, ${bytesText(sizeOf(data))}</figcaption>
    </figure>
  `
}

function Bytes(props: {
  readonly what: string
  readonly data: string
  readonly type: string
}): VNode {
  const { what, data, type } = props
  return html`<p class="piece dim">
    ${what}: ${type || 'unknown type'}, ${bytesText(sizeOf(data))}
  </p>`
}

function sizeOf(base64: string): number {
  return Math.floor((base64.replace(/=+$/, '').length * 3) / 4)
}
