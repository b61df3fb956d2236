// Signing in at the provider of a backend, from the button to the token.

import { html, useEffect, useRef, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import type { McpBackendView, OAuthFinished } from '../../../admin/page-api/page-api-types.ts'
import { Refused } from '../api.ts'
import { redirectUri, signIn } from './sign-in-window.ts'
import { endOf } from './token.ts'
import type { Token } from './token.ts'
import type { Playground } from './use-playground.ts'
import { Copy } from '../parts/copy.ts'

interface Props {
  readonly backend: McpBackendView
  readonly token: Token
  readonly setToken: (token: Token) => void
  readonly playground: Playground
}

/** The provider registers nobody, or not us. */
const CLIENT_WANTED = 422

export function SignIn({ backend, token, setToken, playground }: Props): VNode {
  const [clientId, setClientId] = useState('')
  const { login, begin, giveUp } = useLogin(({ accessToken, expiresIn }) => {
    const until = expiresIn === null ? null : Date.now() + expiresIn * 1_000
    setToken({ text: accessToken, until })
    playground.connect(accessToken)
  })
  const host = new URL(backend.authentication?.issuer ?? 'http://nobody').host
  const wantsClient = login.state === 'failed' && login.wants === 'client'
  return html`
    ${token.text !== '' && html`<span class="dim">signed in, token ${endOf(token)}</span>`}
    ${
      (wantsClient || clientId !== '') &&
      html`
        <label class="client">
          Client id
          <input
            type="text"
            class="mono"
            autocomplete="off"
            value=${clientId}
            onInput=${(event: Event) => setClientId((event.target as HTMLInputElement).value.trim())}
          />
        </label>
      `
    }
    ${
      login.state === 'waiting'
        ? html`<${Waiting} host=${host} url=${login.url} giveUp=${giveUp} />`
        : html`
            <button
              type="button"
              class=${token.text === '' ? 'main' : ''}
              onClick=${() => begin(backend.key, clientId)}
            >
              ${token.text === '' ? `Sign in at ${host}` : 'Sign in again'}
            </button>
          `
    }
    ${login.state === 'failed' && html`<${Fault} words=${login.words} wants=${login.wants} />`}
  `
}

function Waiting(props: {
  readonly host: string
  readonly url: string
  readonly giveUp: () => void
}): VNode {
  const { host, url, giveUp } = props
  return html`
    <span class="dim" role="status">Waiting for ${host}…</span>
    ${url !== '' && html`<a href=${url} target="_blank" rel="noopener">No window? Open it here</a>`}
    <button type="button" onClick=${giveUp}>Give up</button>
  `
}

function Fault(props: { readonly words: string; readonly wants: 'client' | 'nothing' }): VNode {
  const { words, wants } = props
  return html`
    <div class="note bad" role="alert">
      <p>${words}</p>
      ${
        wants === 'client' &&
        html`
          <p>
            Give the id of a public client (no secret, PKCE) that is registered there with this
            redirect URI: <code>${redirectUri()}</code> <${Copy} text=${redirectUri()} />
          </p>
        `
      }
    </div>
  `
}

type LoginState =
  | { readonly state: 'idle' }
  | { readonly state: 'waiting'; readonly url: string }
  | { readonly state: 'failed'; readonly words: string; readonly wants: 'client' | 'nothing' }

interface UsedLogin {
  readonly login: LoginState
  readonly begin: (backend: string, clientId: string) => void
  readonly giveUp: () => void
}

function useLogin(taken: (finished: OAuthFinished) => void): UsedLogin {
  const [login, set] = useState<LoginState>({ state: 'idle' })
  const controller = useRef<AbortController | null>(null)
  const giveUp = (): void => {
    controller.current?.abort()
    set({ state: 'idle' })
  }
  const begin = (backend: string, clientId: string): void => {
    const { signal } = (controller.current = new AbortController())
    set({ state: 'waiting', url: '' })
    const opened = (url: string): void => set({ state: 'waiting', url })
    signIn({ backend, clientId, signal, opened }).then(
      (finished) => {
        if (signal.aborted) return
        set({ state: 'idle' })
        taken(finished)
      },
      (error: unknown) => {
        if (signal.aborted) return
        const isOurs = error instanceof Refused && error.status === CLIENT_WANTED
        const words = error instanceof Error ? error.message : String(error)
        set({ state: 'failed', words, wants: isOurs ? 'client' : 'nothing' })
      },
    )
  }
  useEffect(() => () => controller.current?.abort(), [])
  return { login, begin, giveUp }
}
