// What came back from an MCP server: texts, images, resources and data. All of it is a stranger's, and shown as text; images
// are drawn by the browser from the bytes that came.

import { bytesText } from '../../../trace-view/amounts.ts'
import { html, useState } from '../view.ts'
import type { ComponentChildren, VNode } from '../view.ts'
import { membersOf, objectsIn, textOf } from './messages.ts'
import type { Members } from './messages.ts'
import { Badge } from '../parts/badge.ts'
import { Copy } from '../parts/copy.ts'
import { DataView } from '../parts/data-view.ts'

const MAX_BLOCKS = 100
const MAX_LETTERS = 20_000
/** Of base64. */
const MAX_IMAGE_LETTERS = 8_388_608
const IMAGES = /^image\/(?:png|jpeg|gif|webp|avif|bmp|svg\+xml)$/

export type Read = (uri: string) => void

/** The blocks of a tool's result or a prompt's message. */
export function Blocks(props: { readonly of: unknown; readonly read: Read }): VNode {
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

/** One part of a resource: text, or bytes. */
export function Contents(props: { readonly of: Members }): VNode {
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
  const shown = isWhole ? text : text.slice(0, MAX_LETTERS)
  return html`
    <div class="piece">
      <div class="tools">
        ${
          data !== null &&
          html`<button type="button" onClick=${() => setAs(as === 'text' ? 'data' : 'text')}>
            ${as === 'text' ? 'As data' : 'As text'}
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

/** Many servers put JSON in a text. */
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
  const isShown = IMAGES.test(type) && data.length <= MAX_IMAGE_LETTERS && !isBroken
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
  return html`<p class="piece dim">${what}: ${type || 'of no type'}, ${bytesText(sizeOf(data))}</p>`
}

function sizeOf(base64: string): number {
  return Math.floor((base64.replace(/=+$/, '').length * 3) / 4)
}
