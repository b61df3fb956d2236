// What is there while an answer is awaited, and when it does not come: the same words on every page.

import { html } from '../view.ts'
import type { ComponentChildren, VNode } from '../view.ts'
import type { Loaded } from '../use.ts'

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
  const [title, advice] = wordsOf(of)
  return html`
    <div class="note bad" role="alert">
      <p><strong>${title}</strong></p>
      <p>${advice}</p>
      <p class="mono dim">${of.status === null ? '' : `${of.status}: `}${of.error}</p>
      ${again && html`<button type="button" onClick=${again}>Try again</button>`}
    </div>
  `
}

function wordsOf({ status }: Failed): readonly [title: string, advice: string] {
  if (status === null)
    return ['The gateway does not answer.', 'It may be restarting, or the network is down.']
  if (status === 401)
    return [
      'You are not signed in.',
      'A policy in front of this page asks for credentials, and those of this browser are missing or have expired. Reload the page to sign in again.',
    ]
  if (status === 403)
    return [
      'You may not see this.',
      'A policy in front of this page does not let you read it. Ask whoever keeps the ui section of the configuration.',
    ]
  if (status === 404)
    return ['This gateway does not have that.', 'It is not served here, or is gone by now.']
  if (status === 429) return ['Asked too often.', 'A rate limit in front of this page is used up.']
  return ['That did not work.', 'The gateway answered with an error.']
}

/** Nothing to show is an answer too; it says what would be here. */
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
