// A word in a coloured pill. The colour never says more than the word.

import { html } from '../view.ts'
import type { ComponentChildren, VNode } from '../view.ts'

export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'accent'

export function Badge(props: {
  readonly tone?: Tone
  readonly title?: string
  readonly children: ComponentChildren
}): VNode {
  const { tone = 'plain', title, children } = props
  return html`<span class=${`badge ${tone}`} title=${title}>${children}</span>`
}

/** Of an HTTP status; 0 for none. */
export function toneOfStatus(status: number): Tone {
  if (status === 0 || status >= 500) return 'bad'
  if (status >= 400) return 'warn'
  return status >= 300 ? 'plain' : 'good'
}
