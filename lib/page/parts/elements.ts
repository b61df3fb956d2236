// Small elements that several pages use: badge, copy button, fields, loading and empty states.

import { html, useEffect, useState } from '../page-view.ts'
import type { ComponentChildren, VNode } from '../page-view.ts'
import type { Loaded } from '../server-data.ts'

export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'accent'

export function Badge(props: {
  readonly tone?: Tone
  readonly title?: string
  readonly children: ComponentChildren
}): VNode {
  const { tone = 'plain', title, children } = props
  return html`<span class=${`badge ${tone}`} title=${title}>${children}</span>`
}

/** The tone of an HTTP status; 0 means none. */
export function toneOfStatus(status: number): Tone {
  if (status === 0 || status >= 500) return 'bad'
  if (status >= 400) return 'warn'
  return status >= 300 ? 'plain' : 'good'
}

const NOTE_MS = 2_000

export function Copy(props: { readonly text: string; readonly label?: string }): VNode {
  const { text, label = 'Copy' } = props
  const [said, say] = useState('')
  useEffect(() => {
    if (said === '') return undefined
    const timer = setTimeout(() => say(''), NOTE_MS)
    return () => clearTimeout(timer)
  }, [said])
  const copy = (): void => {
    write(text).then(
      () => say('Copied'),
      () => say('Copying is not allowed'),
    )
  }
  return html`
    <button type="button" class="copy" onClick=${copy}>
      ${label}<span class="said" role="status">${said}</span>
    </button>
  `
}

/** Browsers offer the clipboard on loopback and over TLS only; elsewhere the older command is used. */
async function write(text: string): Promise<void> {
  if (isSecureContext) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  const isDone = document.execCommand('copy')
  area.remove()
  if (!isDone) throw new Error('not copied')
}

export function Search(props: {
  readonly hint: string
  readonly words: string
  readonly set: (words: string) => void
}): VNode {
  const { hint, words, set } = props
  return html`
    <label class="grow">
      <span class="unseen">Search</span>
      <input
        type="search"
        placeholder=${hint}
        value=${words}
        onInput=${(event: Event) => set((event.target as HTMLInputElement).value)}
      />
    </label>
  `
}

export function Select<T extends string>(props: {
  readonly name: string
  readonly value: T
  readonly of: Readonly<Record<T, string>>
  readonly set: (value: T) => void
}): VNode {
  const { name, value, of, set } = props
  return html`
    <label>
      <span class="unseen">${name}</span>
      <select
        value=${value}
        onChange=${(event: Event) => set((event.target as HTMLSelectElement).value as T)}
      >
        ${Object.entries<string>(of).map(([one, text]) => html`<option value=${one}>${text}</option>`)}
      </select>
    </label>
  `
}

type Failed = Extract<Loaded<never>, { state: 'failed' }>

/** `<${Await} of=${loaded} again=${again}>${(value) => html`…`}<//>` */
export function Await<T>(props: {
  readonly of: Loaded<T>
  readonly again?: () => void
  readonly children: (value: T) => ComponentChildren
}): ComponentChildren {
  const { of, again, children } = props
  if (of.state === 'ready') return children(of.value)
  if (of.state === 'failed') return html`<${Failure} of=${of} again=${again} />`
  return html`<p class="loading dim" role="status">Loading…</p>`
}

function Failure(props: { readonly of: Failed; readonly again?: () => void }): VNode {
  const { of, again } = props
  const [title, advice] = failureText(of)
  return html`
    <div class="note bad" role="alert">
      <p><strong>${title}</strong></p>
      <p>${advice}</p>
      <p class="mono dim">${of.status === null ? '' : `${of.status}: `}${of.error}</p>
      ${again && html`<button type="button" onClick=${again}>Try again</button>`}
    </div>
  `
}

function failureText({ status }: Failed): readonly [title: string, advice: string] {
  if (status === null)
    return ['The gateway does not respond.', 'It may be restarting, or the network is down.']
  if (status === 401)
    return [
      'You are not signed in.',
      'A policy of this page requires credentials, and those of this browser are missing or expired. Reload the page to sign in again.',
    ]
  if (status === 403)
    return [
      'Access denied.',
      'A policy of this page denies you access. Ask the operator who maintains the ui section of the configuration.',
    ]
  if (status === 404) return ['Not found.', 'This gateway does not serve it, or no longer.']
  if (status === 429) return ['Too many requests.', 'A rate limit of this page is exhausted.']
  return ['The request failed.', 'The gateway responded with an error.']
}

/** Shown where there is no data: says what would be here. */
export function Empty(props: {
  readonly title: string
  readonly children?: ComponentChildren
}): VNode {
  return html`
    <div class="empty">
      <p><strong>${props.title}</strong></p>
      ${props.children}
    </div>
  `
}
