// YAML with numbered lines that folds at its top level, and can be searched and copied.

import { html, useEffect, useMemo, useRef, useState } from '../view.ts'
import type { ComponentChildren, VNode } from '../view.ts'
import { cutAt, jumpsOf, matchesIn, partsOf, sectionsOf } from './yaml-lines.ts'
import type { Match, Section } from './yaml-lines.ts'
import { Copy } from '../parts/copy.ts'

/** Lines of one section that are drawn at once; more by a button. */
const MOST_LINES = 1_000
/** More than this stands folded at first. */
const LONG = 3_000
const MOST_MATCHES = 1_000
const MOST_JUMPS = 300

export function YamlView(props: { readonly yaml: string; readonly find: string }): VNode {
  const { yaml } = props
  const sections = useMemo(() => sectionsOf(yaml), [yaml])
  const [words, setWords] = useState(props.find)
  const [folded, setFolded] = useState<ReadonlySet<string>>(() => foldedAtFirst(sections))
  const [line, setLine] = useState(() => matchesIn(sections, props.find, 1)[0]?.line ?? 0)
  const matches = useMemo(() => matchesIn(sections, words, MOST_MATCHES), [sections, words])
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
          said=${saidOf(words, at, matches)}
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

function saidOf(words: string, at: number, { length }: readonly Match[]): string {
  if (words === '') return ''
  const all = `${length}${length === MOST_MATCHES ? ' or more' : ''}`
  return at < 0 ? all : `${at + 1} of ${all}`
}

/** A part that is chosen once more is gone to once more. */
function Jumps(props: {
  readonly sections: readonly Section[]
  readonly go: (line: number) => void
}): VNode {
  const { sections, go } = props
  const jumps = useMemo(() => jumpsOf(sections, MOST_JUMPS), [sections])
  const chosen = (event: Event): void => {
    const select = event.target as HTMLSelectElement
    go(Number(select.value))
    select.value = '0'
  }
  return html`
    <select aria-label="Go to a part" onChange=${chosen}>
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
      <button type="button" aria-label="The one before" onClick=${() => step(-1)}>↑</button>
      <button type="button" aria-label="The next" onClick=${() => step(1)}>↓</button>
      <span class="dim number" role="status">${said}</span>
    </div>
  `
}

function SectionView(props: {
  readonly section: Section
  readonly words: string
  readonly isFolded: boolean
  /** Number of the line that was found; 0 for none. */
  readonly current: number
  readonly fold: (name: string) => void
}): VNode {
  const { section, words, isFolded, current, fold } = props
  const { name, first, lines } = section
  const [most, setMost] = useState(MOST_LINES)
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
          <button type="button" class="plain more" onClick=${() => setMost(shown + MOST_LINES)}>
            ${lines.length - shown} more lines
          </button>
        `
      }
    </div>
  `
}

/** By hand: to draw all lines anew for one that is marked would be slow. */
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
