// One request of the access log, opened: why it ended as it did, what to do next, and all that the log knows.

import { html } from '../view.ts'
import type { VNode } from '../view.ts'
import { explain, expressionFor } from '../parts/requests.ts'
import type { SeenRequest } from '../parts/requests.ts'
import { useLoaded } from '../use.ts'
import type { MapView } from '../../../admin/page-api/page-api-types.ts'
import { deniedRules } from './denied-rules.ts'
import type { Reason } from './reasons.ts'

export function RequestDetail(props: { readonly request: SeenRequest }): VNode {
  const { request } = props
  const reason = explain(request)
  return html`
    <div class="detail">
      <${Why} reason=${reason} status=${request.status} />
      ${isAboutRules(reason) && html`<${Rules} request=${request} />`}
      <p class="row">
        <a
          class="button"
          href=${`#/trace?expression=${encodeURIComponent(expressionFor(request))}`}
        >
          Trace the next such request
        </a>
        ${request.route !== '' && html`<${RouteLinks} route=${request.route} />`}
        ${reason?.policy === 'rateLimit' && html`<a href="#/limits">What is left of the limits</a>`}
      </p>
      <dl class="pairs mono">
        ${request.fields.map(
          ([name, value]) => html`
            <dt key=${name}>${name}</dt>
            <dd>${String(value)}</dd>
          `,
        )}
      </dl>
    </div>
  `
}

function Why(props: { readonly reason: Reason | null; readonly status: number }): VNode {
  const { reason, status } = props
  if (reason === null) return html`<p><strong>It was answered with ${status}.</strong></p>`
  return html`
    <div>
      <p><strong>${reason.words}</strong></p>
      <p>${reason.advice}</p>
      ${reason.policy !== null && html`<p>Policy: <code>${reason.policy}</code></p>`}
    </div>
  `
}

function isAboutRules(reason: Reason | null): boolean {
  return reason?.policy?.startsWith('authorization') === true
}

/** As they stand in the configuration in force. */
function Rules(props: { readonly request: SeenRequest }): VNode | null {
  const [map] = useLoaded<MapView>('/api/map')
  const rules = map.state === 'ready' ? deniedRules(map.value, props.request) : []
  if (rules.length === 0) return null
  return html`
    <ul class="rules mono">
      ${rules.map(
        ({ mode, expression }) => html`<li><span class="dim">${mode}</span> ${expression}</li>`,
      )}
    </ul>
  `
}

function RouteLinks(props: { readonly route: string }): VNode {
  const route = encodeURIComponent(props.route)
  return html`
    <span class="row">
      <a href=${`#/map?route=${route}`}>The route on the map</a>
      <a href=${`#/logs?route=${route}`}>Its log lines</a>
    </span>
  `
}
