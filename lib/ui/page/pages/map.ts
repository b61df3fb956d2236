// TODO by its helper.

import { html } from '../view.ts'
import type { VNode } from '../view.ts'

export function MapPage(): VNode {
  return html`<p>…</p>`
}
