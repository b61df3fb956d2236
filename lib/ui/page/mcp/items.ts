// What a server offers, to choose from.

import { html, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import type { Item, Offer } from './listed.ts'

export type Kind = 'tools' | 'prompts' | 'resources'

const KINDS: readonly Kind[] = ['tools', 'prompts', 'resources']
const TITLES = { tools: 'Tools', prompts: 'Prompts', resources: 'Resources' }

/** A filter is of use from here on. */
const MANY = 8

export function Items(props: {
  readonly offer: Offer
  readonly chosen: Item | null
  readonly choose: (item: Item) => void
}): VNode {
  const { offer, chosen, choose } = props
  const [kind, setKind] = useState<Kind>(
    () => KINDS.find((one) => offer[one].length > 0) ?? 'tools',
  )
  const [filter, setFilter] = useState('')
  const all: readonly Item[] = offer[kind]
  const wanted = filter.toLowerCase()
  const shown = all.filter((item) =>
    textsOf(item).some((one) => one.toLowerCase().includes(wanted)),
  )
  return html`
    <nav class="items-list" aria-label="What the server offers">
      <div class="segments" role="group" aria-label="Kind">
        ${KINDS.map(
          (one) => html`
            <button
              key=${one}
              type="button"
              aria-pressed=${one === kind ? 'true' : 'false'}
              onClick=${() => setKind(one)}
            >
              ${`${TITLES[one]} `}<span class="count">${offer[one].length}</span>
            </button>
          `,
        )}
      </div>
      ${
        all.length >= MANY &&
        html`
          <input
            type="search"
            aria-label=${`Filter ${kind}`}
            placeholder="Filter"
            value=${filter}
            onInput=${(event: Event) => setFilter((event.target as HTMLInputElement).value)}
          />
        `
      }
      ${offer.problems.map((problem) => html`<p class="note bad" key=${problem}>${problem}</p>`)}
      <ul>
        ${shown.map(
          (item) => html`
            <li key=${`${item.kind} ${nameOf(item)}`}>
              <button
                type="button"
                aria-current=${isSame(item, chosen) ? 'true' : undefined}
                onClick=${() => choose(item)}
              >
                <span class="mono">${nameOf(item)}</span>${' '}
                <span class="dim">${item.title || item.description}</span>
              </button>
            </li>
          `,
        )}
      </ul>
      ${shown.length === 0 && html`<p class="dim none">${all.length === 0 ? `no ${kind}` : 'nothing like that'}</p>`}
    </nav>
  `
}

export function nameOf(item: Item): string {
  return item.kind === 'resource' || item.kind === 'template' ? item.uri : item.name
}

export function isSame(one: Item, other: Item | null): boolean {
  return other !== null && one.kind === other.kind && nameOf(one) === nameOf(other)
}

function textsOf(item: Item): string[] {
  return [nameOf(item), item.name, item.title, item.description]
}
