// The limits page: one card for each limit rule, with its fullest buckets and consumption.

import type { LimitRule, LimitsView } from '../../admin/page-api/page-api-types.ts'
import { html, useEffect, useState } from '../page-view.ts'
import type { ComponentChildren, PageProps, VNode } from '../page-view.ts'
import { countedText, wholeText } from '../map/map-texts.ts'
import { Await, Badge, Empty, Search, Select } from '../parts/elements.ts'
import type { Tone } from '../parts/elements.ts'
import { useLive, useLoaded, useStored } from '../server-data.ts'
import { Chart } from '../parts/chart.ts'
import type { Series } from '../parts/chart.ts'
import { countText, spanText } from '../parts/number-text.ts'
import {
  consumptionOf,
  consumptionText,
  extendToNow,
  forecastOf,
  leftOf,
  levelOf,
  limitText,
  remainingText,
  selectRules,
  shareLeft,
  tightestKey,
} from './limit-rates.ts'
import type { Consumption, Level, Order, Point } from './limit-rates.ts'

/** Shown at first. */
const FIRST_RULES = 20
const TICK_MS = 1_000

const ORDERS: Readonly<Record<Order, string>> = {
  tightest: 'Least left first',
  written: 'In order of configuration',
}

/** `#/limits?find=<text>` sets the search. */
export function Limits({ query }: PageProps): VNode {
  const [loaded, again] = useLoaded<LimitsView>('/api/limits')
  const [received, setReceived] = useState<{ view: LimitsView; at: number } | null>(null)
  useLive('limits', (view) => setReceived({ view, at: Date.now() }))
  useEffect(() => {
    if (loaded.state === 'ready') setReceived({ view: loaded.value, at: Date.now() })
  }, [loaded])
  if (received === null) return html`<${Await} of=${loaded} again=${again}>${() => null}<//>`
  return html`<${Rules} ...${received} find=${query.get('find') ?? ''} />`
}

function Rules(props: {
  readonly view: LimitsView
  readonly at: number
  readonly find: string
}): VNode {
  const { view, at, find } = props
  const { shown, more } = view.rules
  const [words, setWords] = useState(find)
  const [kept, keep] = useStored('limits-order', 'tightest')
  const order: Order = kept === 'written' ? 'written' : 'tightest'
  const [most, setMost] = useState(FIRST_RULES)
  const elapsed = Math.max(useNow() - at, 0)
  useEffect(() => setWords(find), [find])
  if (shown.length === 0) return html`<${NoRules} />`
  const chosen = selectRules(shown, words, order)
  return html`
    <div>
      <div class="row">
        <${Search} hint="Search routes, keys, limits" words=${words} set=${setWords} />
        <${Select} name="Order" value=${order} of=${ORDERS} set=${keep} />
      </div>
      <p class="dim map-note" role="status">${summary(shown, chosen.length, more)}</p>
      ${chosen.length === 0 && html`<${Empty} title="No limit matches." />`}
      ${chosen.slice(0, most).map((rule) => html`<${LimitCard} key=${rule.id} rule=${rule} elapsed=${elapsed} />`)}
      ${
        chosen.length > most &&
        html`<button type="button" onClick=${() => setMost(most + FIRST_RULES)}>
          Show more of ${countedText(chosen.length, 'limit')}
        </button>`
      }
    </div>
  `
}

function summary(rules: readonly LimitRule[], fitting: number, more: number): string {
  const levels = rules.map((rule) => levelOf(leftOf(rule), rule.limit))
  const count = (level: string): number => levels.filter((one) => one === level).length
  const words = [countedText(rules.length + more, 'limit')]
  if (fitting < rules.length) words.push(`${fitting} found`)
  if (count('empty') > 0) words.push(`${count('empty')} empty`)
  if (count('little') > 0) words.push(`${count('little')} nearly exhausted`)
  if (more > 0) words.push(`${more} not listed`)
  return words.join(', ')
}

/** The current time, every second while the page is visible. */
function useNow(): number {
  const [now, set] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) set(Date.now())
    }, TICK_MS)
    return () => clearInterval(timer)
  }, [])
  return now
}

const EXAMPLE = `rateLimit:
  local: [{ requests: 100, unit: Minutes, key: source.address }]`

function NoRules(): VNode {
  return html`
    <${Empty} title="No limits are configured.">
      <p>
        Under the <code>policies</code> of a route, this gives each client address 100 requests a
        minute:
      </p>
      <pre class="example">${EXAMPLE}</pre>
      <p>
        Without <code>key</code>, all clients share the limit. <code>tokens</code> counts LLM tokens
        instead of requests. What a rate limit service counts (<code>remoteRateLimit</code>) is
        known there only.
      </p>
    <//>
  `
}

/** Keys shown at first. */
const FIRST_KEYS = 4
/** The forecast takes at most this part of the chart. */
const FORECAST_SHARE = 0.5
const CHART_HEIGHT = 88

const LEVELS: Readonly<Record<Level, readonly [Tone, string]>> = {
  empty: ['bad', 'empty'],
  little: ['warn', 'nearly exhausted'],
  enough: ['good', 'enough left'],
}

/** Takes precedence over the level. */
const ENDING_LEVEL: readonly [Tone, string] = ['warn', 'running out']

function LimitCard(props: {
  readonly rule: LimitRule
  /** Milliseconds since the data arrived. */
  readonly elapsed: number
}): VNode {
  const { rule, elapsed } = props
  const left = leftOf(rule)
  const points = extendToNow(rule.history, left, elapsed)
  const refill = Math.max(rule.reset * 1_000 - elapsed, 0)
  const burn = consumptionOf(points, { left, refill, interval: rule.interval })
  const [tone, word] = burn.kind === 'ending' ? ENDING_LEVEL : LEVELS[levelOf(left, rule.limit)]
  const whose = tightestKey(rule)
  return html`
    <article class="card limit" aria-label=${`${rule.owner}: ${limitText(rule)}`}>
      <div class="limit-words">
        <div class="limit-head">
          <h2>${limitText(rule)}</h2>
          <${Badge} tone=${tone}>${word}<//>
        </div>
        <p class="dim">
          <bdi>${rule.owner}</bdi>
          ${rule.key !== null && html`<span>, for each <code>${rule.key}</code></span>`}
        </p>
        <${Meter} name=${`Left of ${limitText(rule)}`} left=${left} limit=${rule.limit} />
        <p class="limit-left">
          <span
            ><b>${remainingText(left, rule.limit)}</b
            >${whose !== null && html`<span class="dim whose"> for ${whose}</span>`}</span
          >
          <span class=${consumptionTone(burn)}>${consumptionText(burn, rule, refill)}</span>
        </p>
        <${Decisions} rule=${rule} />
        <p class="mono dim name">${rule.name}</p>
      </div>
      <div class="limit-side">
        <${ConsumptionChart} rule=${rule} points=${points} burn=${burn} refill=${refill} />
        ${rule.key !== null && html`<${Keys} rule=${rule} />`}
      </div>
    </article>
  `
}

function consumptionTone({ kind }: Consumption): string {
  if (kind === 'empty') return 'bad'
  return kind === 'ending' ? 'warn' : 'dim'
}

function Meter(props: {
  readonly name: string
  readonly left: number
  readonly limit: number
}): VNode {
  const { name, left, limit } = props
  const percent = shareLeft(left, limit) * 100
  return html`
    <div
      class=${`meter level-${levelOf(left, limit)}`}
      role="meter"
      aria-label=${name}
      aria-valuemin="0"
      aria-valuemax=${limit}
      aria-valuenow=${Math.min(Math.max(left, 0), limit)}
      aria-valuetext=${remainingText(left, limit)}
    >
      <span style=${{ width: `${percent}%` }} />
    </div>
  `
}

function Decisions({ rule }: { readonly rule: LimitRule }): VNode {
  const { allow, deny, failed } = rule.decisions
  return html`
    <p class="limit-decisions">
      <span>${wholeText(allow)} allowed</span>
      <span class=${deny > 0 ? 'warn' : 'dim'}>${wholeText(deny)} denied</span>
      ${failed > 0 && html`<span class="bad">${wholeText(failed)} not counted: service unreachable</span>`}
    </p>
  `
}

function ConsumptionChart(props: {
  readonly rule: LimitRule
  readonly points: readonly Point[]
  readonly burn: Consumption
  readonly refill: number
}): VNode {
  const { rule, points, burn, refill } = props
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined || last[0] <= first[0])
    return html`<p class="dim no-chart">The chart fills as time passes.</p>`
  const ahead = forecastOf(points, burn, refill)
  const span = last[0] - first[0]
  const to = Math.min(ahead.at(-1)?.[0] ?? last[0], last[0] + span * FORECAST_SHARE)
  const series: Series[] = [{ name: 'left', tone: 1, points, isFilled: true }]
  if (ahead.length > 0) series.push({ name: 'at this rate', tone: 3, points: cutAt(ahead, to) })
  const ends = [
    `${spanText(span)} ago`,
    to > last[0] ? `in ${spanText(to - last[0])}` : 'now',
  ] as const
  return html`
    <div class="burn">
      <${Chart}
        name=${`Remaining of ${limitText(rule)}`}
        series=${series}
        from=${first[0]}
        to=${to}
        format=${countText}
        least=${rule.limit}
        height=${CHART_HEIGHT}
        ends=${ends}
      />
    </div>
  `
}

/** A straight line, cut at the end of the chart. */
function cutAt(line: readonly Point[], to: number): Point[] {
  const [from, end] = [line[0]!, line.at(-1)!]
  if (end[0] <= to) return [...line]
  const share = (to - from[0]) / (end[0] - from[0])
  return [from, [to, from[1] + (end[1] - from[1]) * share]]
}

function Keys({ rule }: { readonly rule: LimitRule }): ComponentChildren {
  const { tightest, keys, limit, remaining } = rule
  const [isWhole, setWhole] = useState(false)
  if (tightest.length === 0)
    return html`<p class="dim">No value of <code>${rule.key}</code> yet.</p>`
  const shown = isWhole ? tightest : tightest.slice(0, FIRST_KEYS)
  const more = keys - shown.length
  return html`
    <div class="limit-keys">
      <h3>${keys > 1 ? `Least left of ${countedText(keys, 'key')}` : 'The only key'}</h3>
      <ul>
        ${shown.map(
          (one, index) => html`
            <li key=${index}>
              <span class="one-line mono" title=${one.key}
                >${one.key === '' ? '(empty)' : one.key}</span
              >
              <${Meter} name=${`Left for ${one.key}`} left=${one.remaining} limit=${limit} />
              <span class="number">${wholeText(Math.max(one.remaining, 0))}</span>
            </li>
          `,
        )}
        ${
          remaining < limit &&
          html`
            <li>
              <span class="one-line dim">requests without a key</span>
              <${Meter} name="Left for requests without a key" left=${remaining} limit=${limit} />
              <span class="number">${wholeText(Math.max(remaining, 0))}</span>
            </li>
          `
        }
      </ul>
      ${
        more > 0 &&
        (isWhole || tightest.length <= FIRST_KEYS
          ? html`<p class="dim">${countedText(more, 'other key')} with more left</p>`
          : html`<button type="button" class="plain go" onClick=${() => setWhole(true)}>
              Show ${tightest.length - FIRST_KEYS} more of ${wholeText(keys)}
            </button>`)
      }
    </div>
  `
}
