// How much is logged, and the form to change it where that is allowed.

import { html, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import { ask, RUNTIME } from '../api.ts'
import { LEVELS } from './filter.ts'
import { useLoaded } from '../use.ts'
import type { LogsView, RuntimeView } from '../../../admin/page-api/page-api-types.ts'
import { Badge } from '../parts/badge.ts'

export function LogLevel(props: { readonly logs: LogsView; readonly again: () => void }): VNode {
  const { logs, again } = props
  const [runtime] = useLoaded<RuntimeView>(RUNTIME)
  return html`
    <section class="card level-card">
      <h2>Level</h2>
      <p class="row">
        <span class="dim">Now</span>
        ${logs.filter
          .split(',')
          .map((word) => html`<${Badge} tone="accent"><span class="mono">${word}</span><//>`)}
      </p>
      ${runtime.state === 'ready' && runtime.value.place === 'admin' && html`<${Form} modules=${logs.modules} again=${again} />`}
      ${
        runtime.state === 'ready' &&
        runtime.value.place === 'listener' &&
        html`
          <p class="dim">
            It can be changed on the admin interface only: what is served on a listener reads and
            changes nothing.
          </p>
        `
      }
    </section>
  `
}

type Result = { readonly kind: 'none' | 'done' | 'failed'; readonly text: string }

function Form(props: { readonly modules: readonly string[]; readonly again: () => void }): VNode {
  const { modules, again } = props
  const [module, setModule] = useState('')
  const [level, setLevel] = useState('debug')
  const [result, setResult] = useState<Result>({ kind: 'none', text: '' })
  const send = (query: string): void => {
    ask(`/logging?${query}`, { method: 'POST' })
      .then((response) => response.text())
      .then(
        (text) => {
          setResult({ kind: 'done', text })
          again()
        },
        (error: Error) => setResult({ kind: 'failed', text: error.message }),
      )
  }
  const submit = (event: Event): void => {
    event.preventDefault()
    send(`level=${encodeURIComponent(module === '' ? level : `${module}=${level}`)}`)
  }
  const chosen = (event: Event): string => (event.target as HTMLSelectElement).value
  return html`
    <form class="row" onSubmit=${submit}>
      <label>
        Module${' '}
        <select value=${module} onChange=${(event: Event) => setModule(chosen(event))}>
          <option value="">all others</option>
          ${modules.map((name) => html`<option value=${name}>${name}</option>`)}
        </select>
      </label>
      <label>
        Level${' '}
        <select value=${level} onChange=${(event: Event) => setLevel(chosen(event))}>
          ${['off', ...LEVELS].map((name) => html`<option value=${name}>${name}</option>`)}
        </select>
      </label>
      <button type="submit" class="main">Set</button>
      <button type="button" onClick=${() => send('reset')}>As at the start</button>
      <span role="status" class=${result.kind === 'failed' ? 'bad' : 'good'}>${result.text}</span>
    </form>
  `
}
