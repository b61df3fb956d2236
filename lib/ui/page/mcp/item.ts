// One tool, prompt or resource: what it is, what it wants, and what it answers.

import { html, useEffect, useMemo, useRef } from '../view.ts'
import type { VNode } from '../view.ts'
import type { McpBackendView } from '../../../admin/page-api/page-api-types.ts'
import { useHeld } from '../use-held.ts'
import { formOf } from './form-model.ts'
import type { Form } from './form-model.ts'
import { draftsOf, meantBy } from './form-values.ts'
import type { Drafts, Fault, Meant } from './form-values.ts'
import type { McpClient } from './client.ts'
import { curlOf } from './curl.ts'
import type { Item } from './listed.ts'
import { membersOf } from './messages.ts'
import type { Members } from './messages.ts'
import { methodOf, paramsOf, schemaOf } from './work.ts'
import type { Work } from './work.ts'
import { callTraced, TracedNote } from './traced-call.ts'
import { Badge } from '../parts/badge.ts'
import { CallResult } from './call-result.ts'
import { Copy } from '../parts/copy.ts'
import { FormFields, submitByKey } from './form.ts'
import type { Read } from './content.ts'
import { nameOf } from './items.ts'

interface Props {
  readonly item: Item
  readonly work: Work
  readonly client: McpClient
  readonly backend: McpBackendView
  readonly authorization: 'token' | 'none'
  readonly read: Read
}

const VERBS = { tool: 'Call', prompt: 'Get', resource: 'Read', template: 'Read' }
const TRACE = {
  tool: 'this call',
  prompt: 'this request',
  resource: 'this read',
  template: 'this read',
}

/** What somebody has filled in so far. */
interface Filling {
  readonly form: Form
  readonly drafts: Drafts
  readonly text: string | null
  readonly faults: readonly Fault[]
  readonly work: Work
}

function useFilling(item: Item, work: Work): Filling {
  const form = useMemo(() => formOf(schemaOf(item)), [item])
  const [drafts, text] = [useHeld(work.drafts), useHeld(work.text)]
  return { form, drafts, text, faults: useHeld(work.faults), work }
}

function givenIn({ form, drafts, text }: Filling): Meant {
  return text === null ? meantBy(form.fields, drafts) : inText(text)
}

export function ItemView(props: Props): VNode {
  const { item, work, backend, read } = props
  const filling = useFilling(item, work)
  const { form } = filling
  const call = useHeld(work.call)
  const heading = useRef<HTMLHeadingElement>(null)
  const ask = (act: (values: Members) => void): void => {
    const { value, faults: found } = givenIn(filling)
    work.faults.set(found)
    if (found.length === 0) act(value)
  }
  useEffect(() => {
    if (!work.isFirstSight()) return
    heading.current?.focus({ preventScroll: true })
    heading.current?.scrollIntoView({ block: 'nearest' })
  }, [])
  const isRunning = call.state === 'running'
  return html`
    <article class="item-view">
      <${Head} item=${item} heading=${heading} />
      <form
        onSubmit=${(event: Event) => {
          event.preventDefault()
          work.traced.set({ state: 'no' })
          ask((values) => work.run(values))
        }}
      >
        <${Fields} ...${filling} />
        <div class="row actions">
          <button type="submit" class="main" disabled=${isRunning}>${VERBS[item.kind]}</button>
          <button
            type="button"
            disabled=${isRunning}
            onClick=${() => ask((values) => void callTraced(work, backend, values))}
          >
            Trace ${TRACE[item.kind]}
          </button>
          ${isRunning && html`<button type="button" onClick=${() => work.cancel()}>Cancel</button>`}
          ${form.use === 'fields' && html`<${Toggle} ...${filling} />`}
        </div>
      </form>
      <${TracedNote} work=${work} />
      <${CallResult} call=${call} read=${read} />
      <${AsCurl} ...${props} filling=${filling} />
    </article>
  `
}

function Fields({ form, drafts, text, faults, work }: Filling): VNode {
  if (text !== null)
    return html`
      <${AsJson} text=${text} change=${(next: string) => work.text.set(next)} faults=${faults} />
    `
  return html`
    <${FormFields}
      fields=${form.fields}
      drafts=${drafts}
      change=${(next: Drafts) => work.drafts.set(next)}
      faults=${faults}
      path=""
    />
  `
}

function Head(props: {
  readonly item: Item
  readonly heading: { readonly current: HTMLHeadingElement | null }
}): VNode {
  const { item, heading } = props
  const hints = item.kind === 'tool' ? item.hints : []
  const type = item.kind === 'resource' || item.kind === 'template' ? item.type : ''
  return html`
    <header>
      <h2 class="mono" tabindex="-1" ref=${heading}>${nameOf(item)}</h2>
      ${item.title !== '' && html`<span>${item.title}</span>`}
      ${type !== '' && html`<${Badge}>${type}<//>`}
      ${hints.map((hint) => html`<${Badge} key=${hint}>${hint}<//>`)}
    </header>
    ${item.description !== '' && html`<p class="described">${item.description}</p>`}
  `
}

function AsJson(props: {
  readonly text: string
  readonly change: (text: string) => void
  readonly faults: readonly Fault[]
}): VNode {
  const { text, change, faults } = props
  return html`
    <div class="field">
      <label for="as-json">Arguments as JSON</label>
      <textarea
        id="as-json"
        class="mono"
        rows="8"
        spellcheck=${false}
        value=${text}
        onInput=${(event: Event) => change((event.target as HTMLTextAreaElement).value)}
        onKeyDown=${submitByKey}
      />
      ${faults.map((fault) => html`<div class="bad" role="alert">${fault.words}</div>`)}
    </div>
  `
}

/** Between the form and its JSON, and back if that fits. */
function Toggle(filling: Filling): VNode {
  const { form, text, work } = filling
  const turn = (): void => {
    const { value, faults } = givenIn(filling)
    work.faults.set([])
    if (text === null) return work.text.set(JSON.stringify(value, null, 2))
    const found = faults.length > 0 ? null : draftsOf(form.fields, value)
    if (found === null)
      return work.faults.set([{ path: '', words: 'this does not fit into the form' }])
    work.drafts.set(found)
    work.text.set(null)
  }
  return html`
    <button type="button" onClick=${turn}>${text === null ? 'As JSON' : 'As a form'}</button>
  `
}

function AsCurl(props: Props & { readonly filling: Filling }): VNode {
  const { item, client, backend, authorization, filling } = props
  const { value } = givenIn(filling)
  const message = { method: methodOf(item), params: paramsOf(item, value) }
  const command = curlOf({
    ...{ backend, host: location.hostname, headers: client.headers },
    ...{ authorization, message },
  })
  return html`
    <details class="as-curl">
      <summary>The request as curl</summary>
      <div class="piece">
        <div class="tools"><${Copy} text=${command} /></div>
        <pre class="wrapped" tabindex="0">${command}</pre>
      </div>
      ${authorization === 'token' && html`<p class="dim">Put the token in the variable TOKEN.</p>`}
    </details>
  `
}

function inText(text: string): Meant {
  try {
    const value = membersOf(JSON.parse(text))
    if (value !== null) return { value, faults: [] }
    return { value: {}, faults: [{ path: '', words: 'arguments are a JSON object' }] }
  } catch (error) {
    return { value: {}, faults: [{ path: '', words: error instanceof Error ? error.message : '' }] }
  }
}
