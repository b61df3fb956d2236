// YAML with numbered lines that folds at its top level, and can be searched and copied.

import { html, useEffect, useMemo, useRef, useState } from '../view.ts'
import type { ComponentChildren, VNode } from '../view.ts'
import { cutAt, matchesIn, partsOf, sectionsOf } from '../yaml-lines.ts'
import type { Section } from '../yaml-lines.ts'
import { Copy } from './copy.ts'

/** Lines of one section that are drawn at once; more by a button. */
const MOST_LINES = 1_000
/** More than this stands folded at first. */
const LONG = 3_000
const MOST_MATCHES = 1_000

export function YamlView(props: { readonly yaml: string; readonly find: string }): VNode {
  const { yaml } = props
  const sections = useMemo(() => sectionsOf(yaml), [yaml])
  const [words, setWords] = useState(props.find)
  const [turn, setTurn] = useState(0)
  const [folded, setFolded] = useState<ReadonlySet<string>>(() => foldedAtFirst(sections))
  const matches = useMemo(() => matchesIn(sections, words, MOST_MATCHES), [sections, words])
  const at = matches.length === 0 ? -1 : ((turn % matches.length) + matches.length) % matches.length
  const match = matches[at]
  const frame = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (match === undefined) return
    frame.current?.querySelector(`[data-line="${match.line}"]`)?.scrollIntoView({ block: 'center' })
  }, [match?.line, words])
  const fold = (name: string): void =>
    setFolded(
      (was) => new Set(was.has(name) ? [...was].filter((one) => one !== name) : [...was, name]),
    )
  const jump = (name: string): void => {
    setFolded((was) => new Set([...was].filter((one) => one !== name)))
    document.getElementById(idOf(name))?.scrollIntoView({ block: 'start' })
  }
  return html`
    <div class="yaml" ref=${frame}>
      <div class="yaml-bar">
        <${Search}
          words=${words}
          said=${words === '' ? '' : `${at + 1} of ${matches.length}${matches.length === MOST_MATCHES ? ' or more' : ''}`}
          change=${(next: string) => {
            setWords(next)
            setTurn(0)
          }}
          step=${(by: number) => setTurn(turn + by)}
        />
        <${Copy} text=${yaml} label="Copy all" />
        <nav aria-label="Sections" class="row">
          ${sections.map(
            ({ name, lines }) =>
              name !== '' &&
              html`
                <button type="button" class="plain jump" onClick=${() => jump(name)}>
                  ${name} <span class="dim">${lines.length}</span>
                </button>
              `,
          )}
        </nav>
      </div>
      <div class="yaml-text" tabindex="0" role="region" aria-label="Effective configuration">
        ${sections.map(
          (section, index) => html`
            <${SectionView}
              key=${section.name}
              section=${section}
              words=${words}
              isFolded=${folded.has(section.name) && match?.section !== index}
              current=${match?.section === index ? match.line : 0}
              fold=${fold}
            />
          `,
        )}
      </div>
    </div>
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
    <div class="yaml-section" id=${idOf(name)}>
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

function idOf(name: string): string {
  return `yaml-${name}`
}
