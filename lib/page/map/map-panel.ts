// The panel with the details of the selected box, and its policies.

import { StateBadge } from './map-boxes.ts'
import type {
  BackendNode,
  GatewayNode,
  PolicyNode,
  RouteTraffic,
} from '../../admin/page-api/page-api-types.ts'
import { html, useEffect, useRef } from '../page-view.ts'
import type { ComponentChildren, VNode } from '../page-view.ts'
import { Badge } from '../parts/elements.ts'
import { DataView } from '../parts/data-tree.ts'
import { shareText } from '../parts/number-text.ts'
import { allProblems, routeId } from './map-graph.ts'
import type { BackendBox, ListenerBox, Opened, RouteBox, Use } from './map-graph.ts'
import {
  countedText,
  errorShare,
  expressionOf,
  KINDS,
  PART_NAMES,
  partsOf,
  poolOf,
  rateText,
  sumOf,
  wholeText,
} from './map-texts.ts'
import type { RouteRate } from './map-texts.ts'

export interface PanelProps {
  readonly opened: Opened
  readonly rates: ReadonlyMap<string, RouteRate>
  readonly open: (id: string) => void
  readonly close: () => void
}

/** Routes, parts and matches listed. */
const MAX_PANEL_ROWS = 50
/** Up to this many policies are open at first. */
const MAX_OPEN_POLICIES = 3

const NAMES: Readonly<Record<Opened['kind'], string>> = {
  gateway: 'Gateway',
  listener: 'Listener',
  route: 'Route',
  policies: 'Route',
  policy: 'Policy',
  backend: 'Backend',
}

export function GraphPanel(props: PanelProps): VNode {
  const { opened, close } = props
  const heading = useRef<HTMLHeadingElement>(null)
  const title = titleOf(opened)
  useEffect(() => heading.current?.focus({ preventScroll: true }), [opened.box.id, opened.kind])
  return html`
    <section class="card panel" aria-label=${`${NAMES[opened.kind]} ${title}`}>
      <div class="panel-head">
        <div>
          <span class="dim">${NAMES[opened.kind]}</span>
          <h2 ref=${heading} tabindex="-1">${title}</h2>
        </div>
        <button type="button" onClick=${close}>Close</button>
      </div>
      <${Content} ...${props} />
    </section>
  `
}

function titleOf(opened: Opened): string {
  if (opened.kind === 'gateway') return opened.box.gateway.name
  if (opened.kind === 'listener') return opened.box.listener.key
  if (opened.kind === 'policy') return opened.box.policy.kind
  if (opened.kind === 'backend') return opened.box.uses[0]!.backend.label
  return opened.box.route.name
}

function Content({ opened, rates, open }: PanelProps): ComponentChildren {
  switch (opened.kind) {
    case 'gateway':
      return html`<${OfGateway} gateway=${opened.box.gateway} />`
    case 'listener':
      return html`<${OfListener} box=${opened.box} rates=${rates} />`
    case 'route':
    case 'policies':
      return html`<${OfRoute} box=${opened.box} rates=${rates} open=${open} />`
    case 'policy':
      return html`
        <${Policies} of=${[opened.box.policy]} />
        <p class="dim">
          Of route ${' '}<button type="button" class="plain" onClick=${() => open(opened.route.id)}>
            ${opened.route.route.name}
          </button>
        </p>
      `
    case 'backend':
      return html`<${OfBackend} box=${opened.box} open=${open} />`
  }
}

function OfGateway({ gateway }: { readonly gateway: GatewayNode }): VNode {
  return html`
    <dl class="pairs">
      <${GatewayPairs} gateway=${gateway} />
      <${Pair} name="Listeners">${gateway.listeners.map(({ name }) => name).join(', ')}<//>
    </dl>
  `
}

function GatewayPairs({ gateway }: { readonly gateway: GatewayNode }): ComponentChildren {
  return html`
    <${Pair} name="Bound to"><code>${gateway.bind}</code><//>
    <${Pair} name="State"><${StateBadge} state=${gateway.state} /><//>
    <${SourceLine} place=${gateway.place} />
  `
}

function OfListener(props: {
  readonly box: ListenerBox
  readonly rates: PanelProps['rates']
}): ComponentChildren {
  const { gateway, listener } = props.box
  const { hostname, protocol, place, policies, routes } = listener
  const recent = routes.flatMap(({ key }) => props.rates.get(key) ?? [])
  const rate = recent.length === 0 ? null : recent.reduce((sum, one) => sum + one.requests, 0)
  return html`
    <${Problems} of=${allProblems({ problems: [], policies })} />
    <dl class="pairs">
      <${Pair} name="Gateway">${gateway.name}<//>
      <${GatewayPairs} gateway=${{ ...gateway, place: null }} />
      <${Pair} name="Hostname">${hostname ? html`<code>${hostname}</code>` : 'any'}<//>
      <${Pair} name="Protocol">${protocol}<//>
      <${SourceLine} place=${place ?? gateway.place} />
      <${Pair} name="Routes">${wholeText(routes.length)}<//>
      <${TrafficPairs} traffic=${sumOf(routes.map(({ traffic }) => traffic))} rate=${rate} />
    </dl>
    <h3>Policies before route selection</h3>
    <${Policies} of=${policies} />
  `
}

function OfRoute(props: {
  readonly box: RouteBox
  readonly rates: PanelProps['rates']
  readonly open: PanelProps['open']
}): ComponentChildren {
  const { route, uses } = props.box
  const { hostnames, matches, more, policies, problems, place, traffic, key } = route
  const said = new Set(problems)
  const limited = policies.some(({ kind }) => kind === 'rateLimit')
  const others = uses.flatMap(({ backend }) => allProblems(backend)).filter((one) => !said.has(one))
  return html`
    <${Problems} of=${[...problems, ...new Set(others)]} />
    <dl class="pairs">
      <${SourceLine} place=${place} />
      <${TrafficPairs} traffic=${traffic} rate=${props.rates.get(key)?.requests ?? null} />
      ${hostnames.length > 0 && html`<${Pair} name="Hosts"><${Listed} items=${hostnames} /><//>`}
      <${Pair} name="Matches"
        ><${Listed} items=${matches.length > 0 ? matches : ['any request']}
      /><//>
      ${more > 0 && html`<${Pair} name="Not shown">${more} more hosts, matches and backends<//>`}
    </dl>
    <p class="row panel-links">
      <a href=${`#/trace?expression=${encodeURIComponent(expressionOf(route))}`}>Trace a request</a>
      ${limited && html`<a href=${`#/limits?find=${encodeURIComponent(route.name)}`}>Show its limits</a>`}
    </p>
    <h3>Policies</h3>
    <${Policies} of=${policies} />
    <h3>Backends</h3>
    ${uses.length === 0 && html`<p class="dim">None: a policy responds.</p>`}
    ${uses.map(
      (use) => html`
        <p key=${use.backend.key}>
          <button type="button" class="plain" onClick=${() => props.open(use.to)}>
            ${use.backend.label}
          </button>
          <span class="dim"> ${KINDS[use.backend.kind]}</span>
          ${uses.length > 1 && html` <span class="dim">${shareText(use.share)}</span>`}
        </p>
      `,
    )}
  `
}

function OfBackend(props: {
  readonly box: BackendBox
  readonly open: PanelProps['open']
}): ComponentChildren {
  const { uses, problems } = props.box
  const { backend } = uses[0]!
  const parts = partsOf(backend)
  const word = PART_NAMES[backend.kind]
  return html`
    <${Problems} of=${problems} />
    <dl class="pairs">
      <${Pair} name="Kind">${KINDS[backend.kind]}<//>
      <${Pool} uses=${uses} />
      ${
        parts.length > 0 &&
        html`
          <${Pair} name=${`${word[0]!.toUpperCase()}${word.slice(1)}s`}>
            <${Listed} items=${parts.map(({ name, note }) => `${name}  ${note}`)} />
          <//>
        `
      }
      <${Pair} name="Used by">
        ${uses.slice(0, MAX_PANEL_ROWS).map(
          ({ route, backend: { key }, share }) => html`
            <div key=${key}>
              <button type="button" class="plain" onClick=${() => props.open(routeId(route.key))}>
                ${route.name}
              </button>
              ${share < 1 && html`<span class="dim"> ${shareText(share)} of its requests</span>`}
            </div>
          `,
        )}
        <${More} count=${uses.length - MAX_PANEL_ROWS} />
      <//>
    </dl>
    ${backend.kind === 'mcp' && html`<p class="panel-links"><a href="#/mcp">Sessions, tools and a playground</a></p>`}
    ${variants(uses).map(
      ({ backend: { key, config, policies } }, index, { length }) => html`
        <div key=${key}>
          <h3>${length > 1 ? `Config ${index + 1} of ${length}` : 'Config'}</h3>
          <${DataView} value=${config} open=${4} name=${`Config of ${key}`} />
          ${policies.length > 0 && html`<h3>Its own policies</h3>`}
          ${policies.length > 0 && html`<${Policies} of=${policies} />`}
        </div>
      `,
    )}
  `
}

/** Most routes use a backend with the same configuration. */
const MAX_VARIANTS = 8

function variants(uses: readonly Use[]): Use[] {
  const texts = new Map<string, Use>()
  for (const use of uses.slice(0, MAX_PANEL_ROWS)) {
    const { config, policies }: BackendNode = use.backend
    const text = JSON.stringify([config, policies])
    if (!texts.has(text)) texts.set(text, use)
  }
  return [...texts.values()].slice(0, MAX_VARIANTS)
}

function Pool({ uses }: { readonly uses: readonly Use[] }): ComponentChildren {
  const pool = poolOf(uses)
  if (pool === null) return null
  return html`
    <${Pair} name="Connections">
      ${`${wholeText(pool.open)} open, ${wholeText(pool.idle)} idle`}
      ${pool.waiting > 0 && html`<span class="warn">, ${countedText(pool.waiting, 'request')} waiting</span>`}
    <//>
  `
}

function TrafficPairs(props: {
  readonly traffic: RouteTraffic
  readonly rate: number | null
}): ComponentChildren {
  const { traffic, rate } = props
  const { requests, errors, refused } = traffic
  const part = (count: number): string =>
    requests === 0 ? '' : ` (${shareText(count / requests)})`
  return html`
    <${Pair} name="Requests">
      ${wholeText(requests)}${rate !== null && rate > 0 ? `, now ${rateText(rate)}` : ''}
    <//>
    <${Pair} name="Errors">
      <span class=${errorShare(traffic) > 0 ? 'bad' : ''}>${wholeText(errors)}${part(errors)}</span>
    <//>
    <${Pair} name="Refused">
      <span class=${refused > 0 ? 'warn' : ''}>${wholeText(refused)}${part(refused)}</span>
    <//>
  `
}

function Policies({ of }: { readonly of: readonly PolicyNode[] }): ComponentChildren {
  if (of.length === 0) return html`<p class="dim">None.</p>`
  return of.map(
    ({ kind, from, config, problems }, index) => html`
      <details
        key=${index}
        class="map-fold"
        open=${of.length <= MAX_OPEN_POLICIES || problems.length > 0}
      >
        <summary>
          <b class="mono">${kind}</b>
          ${' '}${problems.length > 0 ? html`<${Badge} tone="bad">problem<//>` : html`<${Badge} tone="good">in force<//>`}
          <span class="dim"> ${from === null ? 'inline' : from}</span>
        </summary>
        <${Problems} of=${problems} />
        <${DataView} value=${config} open=${3} name=${`Config of ${kind}`} />
      </details>
    `,
  )
}

function Problems({ of }: { readonly of: readonly string[] }): ComponentChildren {
  return of
    .slice(0, MAX_PANEL_ROWS)
    .map((text) => html`<p key=${text} class="note bad mono">${text}</p>`)
}

function Pair(props: {
  readonly name: string
  readonly children: ComponentChildren
}): ComponentChildren {
  return html`<dt>${props.name}</dt>
    <dd>${props.children}</dd>`
}

function SourceLine({ place }: { readonly place: string | null }): ComponentChildren {
  return place !== null && html`<${Pair} name="Source"><code>${place}</code><//>`
}

function Listed({ items }: { readonly items: readonly string[] }): ComponentChildren {
  return html`
    ${items.slice(0, MAX_PANEL_ROWS).map((text) => html`<div key=${text}><code>${text}</code></div>`)}
    <${More} count=${items.length - MAX_PANEL_ROWS} />
  `
}

function More({ count }: { readonly count: number }): ComponentChildren {
  return count > 0 && html`<div class="dim">… ${wholeText(count)} more</div>`
}
