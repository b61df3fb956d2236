// Shows a JSON value as a tree that opens and closes, each scalar as YAML would write it.

import { html, useState } from '../page-view.ts'
import type { ComponentChildren, VNode } from '../page-view.ts'

/** Members of one value that are shown at once; a button shows more. */
const MAX_SHOWN = 100
/** Length of the text that is shown. */
const MAX_LENGTH = 2_000
/** Deeper values are shown as JSON in one line. */
const MAX_DEPTH = 12

export function DataView(props: {
  readonly value: unknown
  /** Levels that are open at first; 2 when left out. */
  readonly open?: number
  /** The accessible name. */
  readonly name?: string
}): VNode {
  const { value, open = 2, name = 'Data' } = props
  return html`
    <div class="data" role="group" aria-label=${name}>
      ${
        isLeaf(value)
          ? html`<div class="leaf"><${Leaf} value=${value} /></div>`
          : html`<${Members} value=${value} open=${open} depth=${0} />`
      }
    </div>
  `
}

interface Level {
  readonly open: number
  readonly depth: number
}

function Members(props: { readonly value: unknown } & Level): ComponentChildren {
  const { value, open, depth } = props
  const [most, setMost] = useState(MAX_SHOWN)
  const isList = Array.isArray(value)
  const entries = Object.entries(value as Record<string, unknown>)
  const left = entries.length - most
  return html`
    ${entries
      .slice(0, most)
      .map(
        ([name, member]) => html`
          <${Member}
            key=${name}
            name=${isList ? '-' : name}
            value=${member}
            open=${open}
            depth=${depth}
          />
        `,
      )}
    ${
      left > 0 &&
      html`<button type="button" class="plain" onClick=${() => setMost(most + MAX_SHOWN)}>
        … ${left} more
      </button>`
    }
  `
}

function Member(props: { readonly name: string; readonly value: unknown } & Level): VNode {
  const { name, value, open, depth } = props
  const label = html`<span class=${name === '-' ? 'dim' : 'name'}
    >${name === '-' ? '-' : `${name}:`}</span
  >`
  if (isLeaf(value) || depth >= MAX_DEPTH)
    return html`<div class="leaf">${label} <${Leaf} value=${value} /></div>`
  return html`
    <details open=${depth < open}>
      <summary>${label} <span class="dim size">${sizeOf(value)}</span></summary>
      <div class="inner">
        <${Members} value=${value} open=${open} depth=${depth + 1} />
      </div>
    </details>
  `
}

function Leaf(props: { readonly value: unknown }): ComponentChildren {
  const { value } = props
  const [isWhole, setWhole] = useState(false)
  const text = scalarText(value)
  const left = isWhole ? 0 : text.length - MAX_LENGTH
  const kind = value === null ? 'null' : typeof value
  return html`
    <span class=${`value ${kind}`}>${left > 0 ? text.slice(0, MAX_LENGTH) : text}</span>
    ${
      left > 0 &&
      html`<button type="button" class="plain" onClick=${() => setWhole(true)}>
        … ${left} letters more
      </button>`
    }
  `
}

function isLeaf(value: unknown): boolean {
  return typeof value !== 'object' || value === null || Object.keys(value).length === 0
}

function sizeOf(value: unknown): string {
  const count = Object.keys(value as object).length
  return Array.isArray(value)
    ? `${count} item${count === 1 ? '' : 's'}`
    : `${count} field${count === 1 ? '' : 's'}`
}

/** Text that YAML would not read as a plain string. */
const SPECIAL_CHARACTERS = /^$|^[\s\-?:,[\]{}#&*!|>'"%@`]|:\s|\s#|[\s:]$/
const WORDS = /^(?:true|false|null|yes|no|on|off|~)$/i
const NUMBERS = /^[-+]?(?:0x[\da-f]+|(?:\d[\d_]*\.?\d*|\.\d+)(?:e[-+]?\d+)?|\.inf|\.nan)$/i

/** A text is quoted where YAML would read something else; a text of several lines is left as it is. */
export function scalarText(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'null'
  if (value.includes('\n')) return value
  const isOdd = SPECIAL_CHARACTERS.test(value) || WORDS.test(value) || NUMBERS.test(value)
  return isOdd ? JSON.stringify(value) : value
}
