// TODO by its helper.

import { html } from 'htm/preact'
import type { VNode } from 'preact'

export function LiveTrace(): VNode {
  return html`<p>…</p>`
}
