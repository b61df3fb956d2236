// Fields above a list that narrow it down or put it in order; their names are for those who hear them.

import { html } from '../view.ts'
import type { VNode } from '../view.ts'

export function Search(props: {
  readonly hint: string
  readonly words: string
  readonly set: (words: string) => void
}): VNode {
  const { hint, words, set } = props
  return html`
    <label class="grow">
      <span class="unseen">Search</span>
      <input
        type="search"
        placeholder=${hint}
        value=${words}
        onInput=${(event: Event) => set((event.target as HTMLInputElement).value)}
      />
    </label>
  `
}

export function Select<T extends string>(props: {
  readonly name: string
  readonly value: T
  readonly of: Readonly<Record<T, string>>
  readonly set: (value: T) => void
}): VNode {
  const { name, value, of, set } = props
  return html`
    <label>
      <span class="unseen">${name}</span>
      <select
        value=${value}
        onChange=${(event: Event) => set((event.target as HTMLSelectElement).value as T)}
      >
        ${Object.entries<string>(of).map(([one, text]) => html`<option value=${one}>${text}</option>`)}
      </select>
    </label>
  `
}
