// The chosen tool, prompt or resource: its form, its call as a curl command, a trace of it, and the result.

import type { McpBackendView } from '../../admin/page-api/page-api-types.ts'
import { quoteForShell } from '../../trace-view/curl-command.ts'
import { createTraceToken } from '../../trace-view/trace-token.ts'
import { html, useEffect, useMemo, useRef } from '../page-view.ts'
import type { VNode } from '../page-view.ts'
import { useObservable } from '../observable.ts'
import { Badge, Copy } from '../parts/elements.ts'
import { TRACER } from '../trace/tracer.ts'
import { reachableHost } from '../parts/seen-requests.ts'
import { formOf } from './form-model.ts'
import type { Form } from './form-model.ts'
import { draftsOf, readDrafts } from './form-values.ts'
import type { Drafts, Fault, FormResult } from './form-values.ts'
import type { McpClient } from './mcp-client.ts'
import { nameOf } from './offer.ts'
import type { Item } from './offer.ts'
import { membersOf } from './mcp-errors.ts'
import type { Members } from './mcp-errors.ts'
import { methodOf, paramsOf, schemaOf } from './playground-session.ts'
import type { SelectedItem } from './playground-session.ts'
import { CallResult } from './call-result.ts'
import type { Read } from './call-result.ts'
import { FormFields, submitByKey } from './form-view.ts'

interface Props {
  readonly item: Item
  readonly selected: SelectedItem
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

/** What is typed into the form so far. */
interface FormState {
  readonly form: Form
  readonly drafts: Drafts
  readonly text: string | null
  readonly faults: readonly Fault[]
  readonly selected: SelectedItem
}

function useFormState(item: Item, selected: SelectedItem): FormState {
  const form = useMemo(() => formOf(schemaOf(item)), [item])
  const [drafts, text] = [useObservable(selected.drafts), useObservable(selected.text)]
  return { form, drafts, text, faults: useObservable(selected.faults), selected }
}

function readForm({ form, drafts, text }: FormState): FormResult {
  return text === null ? readDrafts(form.fields, drafts) : parseArguments(text)
}

export function ItemView(props: Props): VNode {
  const { item, selected, read } = props
  const state = useFormState(item, selected)
  const { form } = state
  const call = useObservable(selected.call)
  const heading = useRef<HTMLHeadingElement>(null)
  const ask = (act: (values: Members) => void): void => {
    const { value, faults: found } = readForm(state)
    selected.faults.set(found)
    if (found.length === 0) act(value)
  }
  useEffect(() => {
    if (!selected.isFirstShown()) return
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
          selected.traced.set({ state: 'no' })
          ask((values) => selected.run(values))
        }}
      >
        <${Fields} ...${state} />
        <div class="row actions">
          <button type="submit" class="main" disabled=${isRunning}>${VERBS[item.kind]}</button>
          <button
            type="button"
            disabled=${isRunning}
            onClick=${() => ask((values) => void callTraced(selected, values))}
          >
            Trace ${TRACE[item.kind]}
          </button>
          ${isRunning && html`<button type="button" onClick=${() => selected.cancel()}>Cancel</button>`}
          ${form.use === 'fields' && html`<${Toggle} ...${state} />`}
        </div>
      </form>
      <${TracedNote} selected=${selected} />
      <${CallResult} call=${call} read=${read} />
      <${AsCurl} ...${props} state=${state} />
    </article>
  `
}

function Fields({ form, drafts, text, faults, selected }: FormState): VNode {
  if (text !== null)
    return html`
      <${AsJson}
        text=${text}
        change=${(next: string) => selected.text.set(next)}
        faults=${faults}
      />
    `
  return html`
    <${FormFields}
      fields=${form.fields}
      drafts=${drafts}
      change=${(next: Drafts) => selected.drafts.set(next)}
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

/** Switches between the form and its JSON; back only if the JSON fits the form. */
function Toggle(state: FormState): VNode {
  const { form, text, selected } = state
  const turn = (): void => {
    const { value, faults } = readForm(state)
    selected.faults.set([])
    if (text === null) return selected.text.set(JSON.stringify(value, null, 2))
    const found = faults.length > 0 ? null : draftsOf(form.fields, value)
    if (found === null)
      return selected.faults.set([{ path: '', words: 'this JSON does not fit the form' }])
    selected.drafts.set(found)
    selected.text.set(null)
  }
  return html`
    <button type="button" onClick=${turn}>
      ${text === null ? 'Edit as JSON' : 'Edit as form'}
    </button>
  `
}

function AsCurl(props: Props & { readonly state: FormState }): VNode {
  const { item, client, backend, authorization, state } = props
  const { value } = readForm(state)
  const message = { method: methodOf(item), params: paramsOf(item, value) }
  const command = buildMcpCurlCommand({
    ...{ backend, host: location.hostname, headers: client.headers },
    ...{ authorization, message },
  })
  return html`
    <details class="as-curl">
      <summary>Request as curl command</summary>
      <div class="piece">
        <div class="tools"><${Copy} text=${command} /></div>
        <pre class="wrapped" tabindex="0">${command}</pre>
      </div>
      ${authorization === 'token' && html`<p class="dim">Set the variable TOKEN to the token.</p>`}
    </details>
  `
}

function parseArguments(text: string): FormResult {
  try {
    const value = membersOf(JSON.parse(text))
    if (value !== null) return { value, faults: [] }
    return { value: {}, faults: [{ path: '', words: 'the arguments must be a JSON object' }] }
  } catch (error) {
    return { value: {}, faults: [{ path: '', words: error instanceof Error ? error.message : '' }] }
  }
}

async function callTraced(selected: SelectedItem, values: Members): Promise<void> {
  // Other clients may call the same server: only the request with this token is traced.
  const token = createTraceToken()
  selected.traced.set({ state: 'arming' })
  const armed = await TRACER.start('', 'once', token)
  const { value: watch } = TRACER.watch
  if (armed === 'refused') {
    const error = watch.state === 'failed' ? watch.error : 'another trace is in progress'
    return selected.traced.set({ state: 'failed', error })
  }
  selected.traced.set({ state: 'armed' })
  const stop = TRACER.watch.listen(() => {
    const { value: now } = TRACER.watch
    if (now.state === 'waiting') return
    stop()
    selected.traced.set(
      now.state === 'running'
        ? { state: 'kept', id: now.id }
        : { state: 'failed', error: 'stopped' },
    )
  })
  selected.run(values, token)
}

function TracedNote(props: { readonly selected: SelectedItem }): VNode {
  const traced = useObservable(props.selected.traced)
  return html`
    <div class="traced" role="status">
      ${(traced.state === 'arming' || traced.state === 'armed') && html`<span class="dim">Tracing…</span>`}
      ${
        traced.state === 'kept' &&
        html`<a href="#/trace" onClick=${() => TRACER.selectTrace(traced.id)}
          >Show the trace of this call</a
        >`
      }
      ${traced.state === 'failed' && html`<span class="bad">Not traced: ${traced.error}</span>`}
    </div>
  `
}

export interface SentMessage {
  readonly backend: McpBackendView
  /** The host name of the page's address. */
  readonly host: string
  readonly headers: Readonly<Record<string, string>>
  readonly authorization: 'token' | 'none'
  readonly message: Members
}

export function buildMcpCurlCommand({
  backend,
  host,
  headers,
  authorization,
  message,
}: SentMessage): string {
  const words = [`curl -N ${quoteForShell(urlOf(backend, host))}`]
  // The certificate is likely self-signed.
  if (backend.protocol === 'HTTPS') words.push('--insecure')
  for (const [name, value] of Object.entries(headers))
    words.push(`-H ${quoteForShell(`${name}: ${value}`)}`)
  if (authorization === 'token') words.push('-H "authorization: Bearer $TOKEN"')
  words.push(`--data-raw ${quoteForShell(JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }))}`)
  return words.join(' \\\n  ')
}

/** With the listener's hostname, or the address it is bound to. */
export function urlOf(backend: McpBackendView, host: string): string {
  const { protocol, hostname, bind, port, path } = backend
  const usual = protocol === 'HTTPS' ? 443 : 80
  const authority = `${hostname || reachableHost(bind, host)}${port === usual ? '' : `:${port}`}`
  return `${protocol.toLowerCase()}://${authority}${path}`
}
