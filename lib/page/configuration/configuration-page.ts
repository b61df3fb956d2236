// The configuration page: the configuration in force as YAML, and why the last reload was refused.

import type { ConfigView, ResourceState } from '../../admin/page-api/page-api-types.ts'
import { html, useEffect, useMemo, useRef, useState } from '../page-view.ts'
import type { ComponentChildren, PageProps, VNode } from '../page-view.ts'
import { Await, Badge, Copy } from '../parts/elements.ts'
import { dateText, spanText } from '../parts/number-text.ts'
import { useLive, useLoaded } from '../server-data.ts'
import { cutAt, jumpsOf, matchesIn, partsOf, sectionsOf } from './yaml-lines.ts'
import type { Match, Section } from './yaml-lines.ts'

/** Problems and warnings that are shown. */
const MAX_NOTES = 100
const MAX_RESOURCES = 200

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
              The configuration in force, with defaults and without secrets. Comments say where a
              part was written.
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
        ${' '}${config.generation} stays in force until the file is fixed:
      </p>
      <${NoteList} lines=${refusal.problems} />
    </section>
  `
}

function Warnings(props: { readonly warnings: readonly string[] }): VNode {
  const { warnings } = props
  return html`
    <section class="note warn">
      <h2>${warnings.length === 1 ? 'A warning' : `${warnings.length} warnings`}</h2>
      <${NoteList} lines=${warnings} />
    </section>
  `
}

function NoteList(props: { readonly lines: readonly string[] }): VNode {
  const { lines } = props
  const more = lines.length - MAX_NOTES
  return html`
    <ul class="problems mono">
      ${lines.slice(0, MAX_NOTES).map((line) => html`<li>${line}</li>`)}
      ${more > 0 && html`<li class="dim">and ${more} more</li>`}
    </ul>
  `
}

function Resources(props: { readonly resources: readonly ResourceState[] }): VNode {
  const { resources } = props
  const more = resources.length - MAX_RESOURCES
  return html`
    <section class="card">
      <h2>Policy resources</h2>
      ${
        resources.length === 0
          ? html`<p class="dim">None: all policies are written inline.</p>`
          : html`<${ResourceTable} resources=${resources.slice(0, MAX_RESOURCES)} />`
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

/** Lines of one section drawn at once; a button draws more. */
const MAX_LINES = 1_000
/** Longer sections are folded at first. */
const LONG = 3_000
const MAX_MATCHES = 1_000
const MAX_JUMPS = 300

function YamlView(props: { readonly yaml: string; readonly find: string }): VNode {
  const { yaml } = props
  const sections = useMemo(() => sectionsOf(yaml), [yaml])
  const [words, setWords] = useState(props.find)
  const [folded, setFolded] = useState<ReadonlySet<string>>(() => foldedAtFirst(sections))
  const [line, setLine] = useState(() => matchesIn(sections, props.find, 1)[0]?.line ?? 0)
  const matches = useMemo(() => matchesIn(sections, words, MAX_MATCHES), [sections, words])
  const frame = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = line === 0 ? null : frame.current?.querySelector(`[data-line="${line}"]`)
    element?.scrollIntoView({ block: 'center' })
  }, [line, words])
  const search = (next: string): void => {
    setWords(next)
    setLine(matchesIn(sections, next, 1)[0]?.line ?? 0)
  }
  const at = matches.findIndex((match) => match.line === line)
  const step = (by: number): void => {
    const from = at < 0 && by < 0 ? 0 : at
    if (matches.length > 0) setLine(matches.at((from + by) % matches.length)!.line)
  }
  const fold = (name: string): void => {
    setLine(0)
    setFolded((was) => toggled(was, name))
  }
  return html`
    <div class="yaml" ref=${frame}>
      <div class="yaml-bar">
        <${Search}
          words=${words}
          said=${matchCountText(words, at, matches)}
          change=${search}
          step=${step}
        />
        <${Jumps} sections=${sections} go=${setLine} />
        <${Copy} text=${yaml} label="Copy all" />
      </div>
      <div class="yaml-text" tabindex="0" role="region" aria-label="Effective configuration">
        ${sections.map((section) => {
          const has = line >= section.first && line < section.first + section.lines.length
          return html`
            <${SectionView}
              key=${section.name}
              section=${section}
              words=${words}
              isFolded=${folded.has(section.name) && !has}
              current=${has ? line : 0}
              fold=${fold}
            />
          `
        })}
      </div>
    </div>
  `
}

function toggled(names: ReadonlySet<string>, name: string): ReadonlySet<string> {
  return new Set(names.has(name) ? [...names].filter((one) => one !== name) : [...names, name])
}

function matchCountText(words: string, at: number, { length }: readonly Match[]): string {
  if (words === '') return ''
  const all = `${length}${length === MAX_MATCHES ? ' or more' : ''}`
  return at < 0 ? all : `${at + 1} of ${all}`
}

/** Selecting the same part again scrolls to it again. */
function Jumps(props: {
  readonly sections: readonly Section[]
  readonly go: (line: number) => void
}): VNode {
  const { sections, go } = props
  const jumps = useMemo(() => jumpsOf(sections, MAX_JUMPS), [sections])
  const chosen = (event: Event): void => {
    const select = event.target as HTMLSelectElement
    go(Number(select.value))
    select.value = '0'
  }
  return html`
    <select aria-label="Go to section" onChange=${chosen}>
      <option value="0">Go to …</option>
      ${jumps.map(
        ({ label, line, depth }) => html`
          <option key=${line} value=${line}>${'\u00a0'.repeat(depth * 3)}${label}</option>
        `,
      )}
    </select>
  `
}

function Search(props: {
  readonly words: string
  readonly said: string
  readonly change: (words: string) => void
  readonly step: (by: number) => void
}): VNode {
  const { words, said, change, step } = props
  const press = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter') return
    event.preventDefault()
    step(event.shiftKey ? -1 : 1)
  }
  return html`
    <div class="row find" role="search">
      <input
        type="search"
        aria-label="Find in the configuration"
        placeholder="Find"
        value=${words}
        onInput=${(event: Event) => change((event.target as HTMLInputElement).value)}
        onKeyDown=${press}
      />
      <button type="button" aria-label="Previous match" onClick=${() => step(-1)}>↑</button>
      <button type="button" aria-label="Next match" onClick=${() => step(1)}>↓</button>
      <span class="dim number" role="status">${said}</span>
    </div>
  `
}

function SectionView(props: {
  readonly section: Section
  readonly words: string
  readonly isFolded: boolean
  /** Number of the current match's line; 0 for none. */
  readonly current: number
  readonly fold: (name: string) => void
}): VNode {
  const { section, words, isFolded, current, fold } = props
  const { name, first, lines } = section
  const [most, setMost] = useState(MAX_LINES)
  const shown = isFolded ? 1 : Math.max(most, current - first + 1)
  const drawn = useMemo(
    () =>
      lines
        .slice(0, shown)
        .map((line, at) => html`<${Line} line=${line} number=${first + at} words=${words} />`),
    [lines, shown, first, words],
  )
  useMarked(current)
  return html`
    <div class="yaml-section">
      ${
        name !== '' &&
        lines.length > 1 &&
        html`
          <button
            type="button"
            class="fold"
            aria-expanded=${!isFolded}
            aria-label=${`${name}, ${lines.length} lines`}
            onClick=${() => fold(name)}
          ></button>
        `
      }
      ${drawn}
      ${isFolded && lines.length > 1 && html`<div class="dim folded">… ${lines.length - 1} lines</div>`}
      ${
        !isFolded &&
        lines.length > shown &&
        html`
          <button type="button" class="plain more" onClick=${() => setMost(shown + MAX_LINES)}>
            ${lines.length - shown} more lines
          </button>
        `
      }
    </div>
  `
}

/** Sets the mark directly in the DOM: rendering all lines for one mark would be slow. */
function useMarked(line: number): void {
  useEffect(() => {
    const element = line === 0 ? null : document.querySelector(`[data-line="${line}"]`)
    element?.classList.add('found')
    return () => element?.classList.remove('found')
  })
}

function Line(props: {
  readonly line: string
  readonly number: number
  readonly words: string
}): VNode {
  const { line, number, words } = props
  return useMemo(() => {
    const { lead, name, value, comment } = partsOf(line)
    return html`
      <div class="yaml-line" data-line=${number}>
        <span class="n" aria-hidden="true">${number}</span>
        <code
          >${lead}<span class="name">${marked(name, words)}</span>${marked(value, words)}<span
            class="comment"
            >${marked(comment, words)}</span
          ></code
        >
      </div>
    `
  }, [line, number, words])
}

function marked(text: string, words: string): ComponentChildren {
  if (text === '') return null
  return cutAt(text, words).map((part, at) => (at % 2 === 1 ? html`<mark>${part}</mark>` : part))
}

function foldedAtFirst(sections: readonly Section[]): ReadonlySet<string> {
  const all = sections.reduce((sum, { lines }) => sum + lines.length, 0)
  return new Set(all > LONG ? sections.map(({ name }) => name) : [])
}
