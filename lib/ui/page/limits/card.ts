// One rate limit: what it allows and for whom, what is left and for how long, who has the least, and how it burnt down.

import { html, useState } from '../view.ts'
import type { ComponentChildren, VNode } from '../view.ts'
import { Badge } from '../parts/badge.ts'
import type { Tone } from '../parts/badge.ts'
import { Chart } from '../parts/chart.ts'
import type { Series } from '../parts/chart.ts'
import { some, wholeText } from '../map/words.ts'
import { aheadOf, burnOf, burnText, leftText, upToNow } from './burn.ts'
import type { Burn, Point } from './burn.ts'
import { leftOf, levelOf, limitText, shareLeft, tightestKey } from './words.ts'
import type { Level } from './words.ts'
import { countText, spanText } from '../parts/words.ts'
import type { LimitRule } from '../../../admin/page-api/page-api-types.ts'

/** Keys that are shown at first. */
const FIRST_KEYS = 4
/** The chart reaches ahead by at most this part of the time it shows. */
const AHEAD = 0.5
const CHART_HEIGHT = 88

const LEVELS: Readonly<Record<Level, readonly [Tone, string]>> = {
  empty: ['bad', 'empty'],
  little: ['warn', 'nearly empty'],
  enough: ['good', 'enough left'],
}

/** However much is left. */
const ENDING: readonly [Tone, string] = ['warn', 'running out']

export function LimitCard(props: {
  readonly rule: LimitRule
  /** Milliseconds since it was told. */
  readonly elapsed: number
}): VNode {
  const { rule, elapsed } = props
  const left = leftOf(rule)
  const points = upToNow(rule.history, left, elapsed)
  const refill = Math.max(rule.reset * 1_000 - elapsed, 0)
  const burn = burnOf(points, { left, refill, interval: rule.interval })
  const [tone, word] = burn.kind === 'ending' ? ENDING : LEVELS[levelOf(left, rule.limit)]
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
            ><b>${leftText(left, rule.limit)}</b
            >${whose !== null && html`<span class="dim whose"> for ${whose}</span>`}</span
          >
          <span class=${burnTone(burn)}>${burnText(burn, rule, refill)}</span>
        </p>
        <${Decisions} rule=${rule} />
        <p class="mono dim name">${rule.name}</p>
      </div>
      <div class="limit-side">
        <${BurnDown} rule=${rule} points=${points} burn=${burn} refill=${refill} />
        ${rule.key !== null && html`<${Keys} rule=${rule} />`}
      </div>
    </article>
  `
}

function burnTone({ kind }: Burn): string {
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
      aria-valuetext=${leftText(left, limit)}
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
      ${failed > 0 && html`<span class="bad">${wholeText(failed)} could not be asked</span>`}
    </p>
  `
}

function BurnDown(props: {
  readonly rule: LimitRule
  readonly points: readonly Point[]
  readonly burn: Burn
  readonly refill: number
}): VNode {
  const { rule, points, burn, refill } = props
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined || last[0] <= first[0])
    return html`<p class="dim no-chart">What is left is drawn here as time passes.</p>`
  const ahead = aheadOf(points, burn, refill)
  const span = last[0] - first[0]
  const to = Math.min(ahead.at(-1)?.[0] ?? last[0], last[0] + span * AHEAD)
  const series: Series[] = [{ name: 'left', tone: 1, points, isFilled: true }]
  if (ahead.length > 0) series.push({ name: 'at this pace', tone: 3, points: cutAt(ahead, to) })
  const ends = [
    `${spanText(span)} ago`,
    to > last[0] ? `in ${spanText(to - last[0])}` : 'now',
  ] as const
  return html`
    <div class="burn">
      <${Chart}
        name=${`What was left of ${limitText(rule)}`}
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

/** A straight line as far as the chart goes. */
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
    return html`<p class="dim">No value of <code>${rule.key}</code> has come yet.</p>`
  const shown = isWhole ? tightest : tightest.slice(0, FIRST_KEYS)
  const more = keys - shown.length
  return html`
    <div class="limit-keys">
      <h3>${keys > 1 ? `Least left of ${some(keys, 'key')}` : 'The only key'}</h3>
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
          ? html`<p class="dim">${some(more, 'other key')} with more left</p>`
          : html`<button type="button" class="plain go" onClick=${() => setWhole(true)}>
              Show ${tightest.length - FIRST_KEYS} more of ${wholeText(keys)}
            </button>`)
      }
    </div>
  `
}
