// What is in force: the effective YAML, how policy resources fared, and the reload that was refused.

import { html } from '../view.ts'
import type { VNode } from '../view.ts'
import type { PageProps } from '../pages.ts'
import { Badge } from '../parts/badge.ts'
import { Await } from '../parts/loading.ts'
import { dateText, spanText } from '../parts/words.ts'
import { YamlView } from './yaml-view.ts'
import { useLive, useLoaded } from '../use.ts'
import type { ConfigView, ResourceState } from '../../../admin/page-api/page-api-types.ts'

/** Of problems and warnings that are shown. */
const MOST_SAID = 100
const MOST_RESOURCES = 200

export function Configuration({ query }: PageProps): VNode {
  const [config, again] = useLoaded<ConfigView>('/api/config')
  useLive('config', again)
  const find = query.get('find') ?? ''
  return html`
    <${Await} of=${config} again=${again}>
      ${(value: ConfigView) => html`
        <div class="stack">
          <${Facts} config=${value} />
          ${value.refusal !== null && html`<${Refusal} refusal=${value.refusal} config=${value} />`}
          ${value.warnings.length > 0 && html`<${Warnings} warnings=${value.warnings} />`}
          <${Resources} resources=${value.resources} />
          <section class="card">
            <h2>Effective configuration</h2>
            <p class="dim">
              What is in force, with defaults and without secrets. Comments say where a part was
              written.
            </p>
            <${YamlView} key=${find} yaml=${value.yaml} find=${find} />
          </section>
        </div>
      `}
    <//>
  `
}

function Facts(props: { readonly config: ConfigView }): VNode {
  const { generation, loadedAt, file, files } = props.config
  return html`
    <p class="facts dim">
      <${Badge} tone="accent">generation ${generation}<//>
      <span>loaded ${dateText(loadedAt)}, ${spanText(Date.now() - loadedAt)} ago</span>
      <span class="mono">${files.length > 0 ? files.join(', ') : file}</span>
    </p>
  `
}

function Refusal(props: {
  readonly refusal: NonNullable<ConfigView['refusal']>
  readonly config: ConfigView
}): VNode {
  const { refusal, config } = props
  return html`
    <section class="note bad" role="alert">
      <h2>The last reload was refused</h2>
      <p>
        At ${dateText(refusal.at)}, ${spanText(Date.now() - refusal.at)} ago. Generation
        ${' '}${config.generation} stays in force until the file is right:
      </p>
      <${Said} lines=${refusal.problems} />
    </section>
  `
}

function Warnings(props: { readonly warnings: readonly string[] }): VNode {
  const { warnings } = props
  return html`
    <section class="note warn">
      <h2>${warnings.length === 1 ? 'A warning' : `${warnings.length} warnings`}</h2>
      <${Said} lines=${warnings} />
    </section>
  `
}

function Said(props: { readonly lines: readonly string[] }): VNode {
  const { lines } = props
  const more = lines.length - MOST_SAID
  return html`
    <ul class="problems mono">
      ${lines.slice(0, MOST_SAID).map((line) => html`<li>${line}</li>`)}
      ${more > 0 && html`<li class="dim">and ${more} more</li>`}
    </ul>
  `
}

function Resources(props: { readonly resources: readonly ResourceState[] }): VNode {
  const { resources } = props
  const more = resources.length - MOST_RESOURCES
  return html`
    <section class="card">
      <h2>Policy resources</h2>
      ${
        resources.length === 0
          ? html`<p class="dim">There are none: all policies stand where they hold.</p>`
          : html`<${ResourceTable} resources=${resources.slice(0, MOST_RESOURCES)} />`
      }
      ${more > 0 && html`<p class="dim">and ${more} more</p>`}
    </section>
  `
}

function ResourceTable(props: { readonly resources: readonly ResourceState[] }): VNode {
  return html`
    <table class="resources" role="table">
      <thead role="rowgroup">
        <tr role="row">
          <th role="columnheader" scope="col">Resource</th>
          <th role="columnheader" scope="col">Target</th>
          <th role="columnheader" scope="col">Conditions</th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${props.resources.map(({ name, place, conditions }) =>
          targetsOf(conditions).map(
            (target, at) => html`
              <tr role="row" key=${`${name} ${place} ${target}`}>
                <td role="cell">
                  ${at === 0 && html`<strong>${name}</strong> <span class="mono dim">${place}</span>`}
                </td>
                <td role="cell">${target}</td>
                <td role="cell">
                  ${conditions
                    .filter((one) => one.target === target)
                    .map((one) => html`<${ConditionLine} condition=${one} />`)}
                </td>
              </tr>
            `,
          ),
        )}
      </tbody>
    </table>
  `
}

type Condition = ResourceState['conditions'][number]

function targetsOf(conditions: readonly Condition[]): readonly string[] {
  return [...new Set(conditions.map(({ target }) => target))]
}

function ConditionLine(props: { readonly condition: Condition }): VNode {
  const { type, status, reason, message } = props.condition
  const isTrue = status === 'True'
  return html`
    <div>
      <${Badge} tone=${isTrue ? 'good' : 'bad'}>${isTrue ? type : `not ${type}`}<//>
      ${reason !== type && html`<span class=${isTrue ? 'dim' : 'bad'}> ${reason}:</span>`}
      <span class=${isTrue ? 'dim' : 'bad'}> ${message}</span>
    </div>
  `
}
