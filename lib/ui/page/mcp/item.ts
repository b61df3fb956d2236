// One tool, prompt or resource: what it is, what it wants, and what it answers.

import { html, useEffect, useMemo, useRef, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import type { McpBackendView } from '../../api.ts'
import { formOf } from './form-model.ts'
import type { Form } from './form-model.ts'
import { draftsOf, meantBy, presetsOf } from './form-values.ts'
import type { Drafts, Fault, Meant } from './form-values.ts'
import type { McpClient } from './client.ts'
import { curlOf } from './curl.ts'
import type { Item } from './listed.ts'
import { membersOf, textOf } from './messages.ts'
import type { Members } from './messages.ts'
import { filled, holesOf } from './uri-template.ts'
import { useCall } from './use-call.ts'
import { Badge } from '../parts/badge.ts'
import { CallResult } from './call-result.ts'
import { Copy } from '../parts/copy.ts'
import { FormFields, submitByKey } from './form.ts'
import type { Read } from './content.ts'
import { nameOf } from './items.ts'

interface Props {
  readonly item: Item
  readonly client: McpClient
  readonly backend: McpBackendView
  readonly authorization: 'token' | 'none'
  readonly read: Read
  /** Asked for by a link: it is read at once. */
  readonly start: 'wait' | 'at once'
}

const VERBS = { tool: 'Call', prompt: 'Get', resource: 'Read', template: 'Read' }

/** What somebody has filled in so far. */
interface Filling {
  readonly form: Form
  readonly drafts: Drafts
  /** Instead of the form; null while that is used. */
  readonly text: string | null
  readonly faults: readonly Fault[]
  readonly setDrafts: (drafts: Drafts) => void
  readonly setText: (text: string | null) => void
  readonly setFaults: (faults: readonly Fault[]) => void
}

function useFilling(item: Item): Filling {
  const form = useMemo(() => formOf(schemaOf(item)), [item])
  const [drafts, setDrafts] = useState<Drafts>(() => presetsOf(form.fields))
  const [text, setText] = useState<string | null>(form.use === 'json' ? '{}' : null)
  const [faults, setFaults] = useState<readonly Fault[]>([])
  return { form, drafts, text, faults, setDrafts, setText, setFaults }
}

function givenIn({ form, drafts, text }: Filling): Meant {
  return text === null ? meantBy(form.fields, drafts) : inText(text)
}

export function ItemView(props: Props): VNode {
  const { item, client, read, start } = props
  const filling = useFilling(item)
  const { form, drafts, text, faults } = filling
  const { call, run, cancel } = useCall(client)
  const heading = useRef<HTMLHeadingElement>(null)
  const ask = (): void => {
    const { value, faults: found } = givenIn(filling)
    filling.setFaults(found)
    if (found.length === 0) run(methodOf(item), paramsOf(item, value))
  }
  useEffect(() => {
    heading.current?.focus({ preventScroll: true })
    heading.current?.scrollIntoView({ block: 'nearest' })
    if (start === 'at once') ask()
  }, [])
  const isRunning = call.state === 'running'
  return html`
    <article class="item-view">
      <${Head} item=${item} heading=${heading} />
      <form
        onSubmit=${(event: Event) => {
          event.preventDefault()
          ask()
        }}
      >
        ${
          text !== null
            ? html`<${AsJson} text=${text} change=${filling.setText} faults=${faults} />`
            : html`
                <${FormFields}
                  fields=${form.fields}
                  drafts=${drafts}
                  change=${filling.setDrafts}
                  faults=${faults}
                  path=""
                />
              `
        }
        <div class="row actions">
          <button type="submit" class="main" disabled=${isRunning}>${VERBS[item.kind]}</button>
          ${isRunning && html`<button type="button" onClick=${cancel}>Cancel</button>`}
          ${form.use === 'fields' && html`<${Toggle} ...${filling} />`}
        </div>
      </form>
      <${CallResult} call=${call} read=${read} />
      <${AsCurl} ...${props} filling=${filling} />
    </article>
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
  const { form, text, setText, setDrafts, setFaults } = filling
  const turn = (): void => {
    const { value, faults } = givenIn(filling)
    setFaults([])
    if (text === null) return setText(JSON.stringify(value, null, 2))
    const found = faults.length > 0 ? null : draftsOf(form.fields, value)
    if (found === null) return setFaults([{ path: '', words: 'this does not fit into the form' }])
    setDrafts(found)
    setText(null)
  }
  return html`
    <button type="button" onClick=${turn}>${text === null ? 'As JSON' : 'As a form'}</button>
  `
}

function AsCurl(props: Props & { readonly filling: Filling }): VNode {
  const { item, client, backend, authorization, filling } = props
  const { value } = givenIn(filling)
  const message = { method: methodOf(item), params: paramsOf(item, value) }
  const command = curlOf({ backend, headers: client.headers, authorization, message })
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

function schemaOf(item: Item): unknown {
  if (item.kind === 'tool' || item.kind === 'prompt') return item.schema
  const names = item.kind === 'template' ? holesOf(item.uri) : []
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]))
  return { type: 'object', properties, required: names }
}

function methodOf({ kind }: Item): string {
  if (kind === 'tool') return 'tools/call'
  return kind === 'prompt' ? 'prompts/get' : 'resources/read'
}

function paramsOf(item: Item, values: Members): Members {
  if (item.kind === 'tool' || item.kind === 'prompt') return { name: item.name, arguments: values }
  const texts = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, textOf(value)]),
  )
  return { uri: item.kind === 'template' ? filled(item.uri, texts) : item.uri }
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
