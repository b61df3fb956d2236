// Every rate limit that is counted here: what it allows, what is left of it, and when that will be gone.

import { html, useEffect, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import type { PageProps } from '../pages.ts'
import { some } from '../map/words.ts'
import { LimitCard } from './card.ts'
import { chosenRules, leftOf, levelOf } from './words.ts'
import type { Order } from './words.ts'
import { Search, Select } from '../parts/fields.ts'
import { Await, Empty } from '../parts/loading.ts'
import { useKept, useLive, useLoaded } from '../use.ts'
import type { LimitRule, LimitsView } from '../../../admin/page-api/page-api-types.ts'

/** That are shown at first. */
const FIRST_RULES = 20
const TICK = 1_000

const ORDERS: Readonly<Record<Order, string>> = {
  tightest: 'Tightest first',
  written: 'As written',
}

/** `#/limits?find=<words>` searches. */
export function Limits({ query }: PageProps): VNode {
  const [loaded, again] = useLoaded<LimitsView>('/api/limits')
  const [heard, hear] = useState<{ view: LimitsView; at: number } | null>(null)
  useLive('limits', (view) => hear({ view, at: Date.now() }))
  useEffect(() => {
    if (loaded.state === 'ready') hear({ view: loaded.value, at: Date.now() })
  }, [loaded])
  if (heard === null) return html`<${Await} of=${loaded} again=${again}>${() => null}<//>`
  return html`<${Rules} ...${heard} find=${query.get('find') ?? ''} />`
}

function Rules(props: {
  readonly view: LimitsView
  readonly at: number
  readonly find: string
}): VNode {
  const { view, at, find } = props
  const { shown, more } = view.rules
  const [words, setWords] = useState(find)
  const [kept, keep] = useKept('limits-order', 'tightest')
  const order: Order = kept === 'written' ? 'written' : 'tightest'
  const [most, setMost] = useState(FIRST_RULES)
  const elapsed = Math.max(useNow() - at, 0)
  useEffect(() => setWords(find), [find])
  if (shown.length === 0) return html`<${NoRules} />`
  const chosen = chosenRules(shown, words, order)
  return html`
    <div>
      <div class="row">
        <${Search} hint="Search routes, keys, limits" words=${words} set=${setWords} />
        <${Select} name="Order" value=${order} of=${ORDERS} set=${keep} />
      </div>
      <p class="dim map-told" role="status">${summary(shown, chosen.length, more)}</p>
      ${chosen.length === 0 && html`<${Empty} title="No limit fits." />`}
      ${chosen.slice(0, most).map((rule) => html`<${LimitCard} key=${rule.id} rule=${rule} elapsed=${elapsed} />`)}
      ${
        chosen.length > most &&
        html`<button type="button" onClick=${() => setMost(most + FIRST_RULES)}>
          Show more of ${some(chosen.length, 'limit')}
        </button>`
      }
    </div>
  `
}

function summary(rules: readonly LimitRule[], fitting: number, more: number): string {
  const levels = rules.map((rule) => levelOf(leftOf(rule), rule.limit))
  const count = (level: string): number => levels.filter((one) => one === level).length
  const words = [some(rules.length + more, 'limit')]
  if (fitting < rules.length) words.push(`${fitting} found`)
  if (count('empty') > 0) words.push(`${count('empty')} empty`)
  if (count('little') > 0) words.push(`${count('little')} nearly empty`)
  if (more > 0) words.push(`${more} not told to this page`)
  return words.join(', ')
}

/** Turns every second, while somebody looks. */
function useNow(): number {
  const [now, set] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) set(Date.now())
    }, TICK)
    return () => clearInterval(timer)
  }, [])
  return now
}

const EXAMPLE = `rateLimit:
  local: [{ requests: 100, unit: Minutes }]`

function NoRules(): VNode {
  return html`
    <${Empty} title="Nothing is limited here.">
      <p>
        Under the <code>policies</code> of a route, this gives each client address 100 requests a
        minute:
      </p>
      <pre class="example">${EXAMPLE}</pre>
      <p>
        <code>tokens</code> counts LLM tokens instead; with a <code>key</code>, such as
        ${' '}<code>source.address</code>, each client has as much for itself. What a rate limit
        service counts (<code>remoteRateLimit</code>) is known there only.
      </p>
    <//>
  `
}
