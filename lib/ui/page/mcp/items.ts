// What a server offers, to choose from.

import { html, useEffect, useRef, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import { useHeld } from '../use-held.ts'
import type { Desk } from './desk.ts'
import type { Item, Kind, Offer } from './listed.ts'

const KINDS: readonly Kind[] = ['tools', 'prompts', 'resources']
const TITLES = { tools: 'Tools', prompts: 'Prompts', resources: 'Resources' }

/** A filter is of use from here on. */
const MANY = 8

export function Items(props: {
  readonly desk: Desk
  readonly offer: Offer
  readonly chosen: Item | null
}): VNode {
  const { desk, offer, chosen } = props
  const kind = useHeld(desk.kind) ?? KINDS.find((one) => offer[one].length > 0) ?? 'tools'
  const filter = useHeld(desk.filter)
  const [isOpen, setOpen] = useState(chosen === null)
  const place = useRef<HTMLElement>(null)
  useEffect(() => {
    // The button that led here is gone, and the focus with it.
    if (document.activeElement !== document.body) return
    place.current?.querySelector<HTMLElement>('li button')?.focus({ preventScroll: true })
  }, [])
  const turn = (next: Kind): void => {
    if (next !== kind) desk.choose(null)
    desk.kind.set(next)
    desk.filter.set('')
    setOpen(true)
  }
  const choose = (item: Item): void => {
    desk.choose(item)
    setOpen(false)
  }
  const all: readonly Item[] = offer[kind]
  const wanted = filter.toLowerCase()
  const shown = all.filter((item) =>
    textsOf(item).some((one) => one.toLowerCase().includes(wanted)),
  )
  return html`
    <nav
      class=${`items-list ${isOpen || chosen === null ? '' : 'folded'}`}
      aria-label="What the server offers"
      ref=${place}
    >
      <${Kinds} offer=${offer} kind=${kind} turn=${turn} />
      ${
        all.length >= MANY &&
        html`
          <input
            type="search"
            aria-label=${`Filter ${kind}`}
            placeholder="Filter"
            value=${filter}
            onInput=${(event: Event) => desk.filter.set((event.target as HTMLInputElement).value)}
          />
        `
      }
      <button type="button" class="unfold" onClick=${() => setOpen(true)}>
        Show all ${all.length} ${kind}
      </button>
      ${offer.problems.map((problem) => html`<p class="note bad" key=${problem}>${problem}</p>`)}
      <${Names} of=${shown} chosen=${chosen} choose=${choose} />
      ${shown.length === 0 && html`<p class="dim none">${all.length === 0 ? `no ${kind}` : 'nothing like that'}</p>`}
    </nav>
  `
}

function Kinds(props: {
  readonly offer: Offer
  readonly kind: Kind
  readonly turn: (kind: Kind) => void
}): VNode {
  const { offer, kind, turn } = props
  return html`
    <div class="segments" role="group" aria-label="Kind">
      ${KINDS.map(
        (one) => html`
          <button
            key=${one}
            type="button"
            aria-pressed=${one === kind ? 'true' : 'false'}
            onClick=${() => turn(one)}
          >
            ${`${TITLES[one]} `}<span class="count">${offer[one].length}</span>
          </button>
        `,
      )}
    </div>
  `
}

function Names(props: {
  readonly of: readonly Item[]
  readonly chosen: Item | null
  readonly choose: (item: Item) => void
}): VNode {
  const { of, chosen, choose } = props
  return html`
    <ul>
      ${of.map(
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
