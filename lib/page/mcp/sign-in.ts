// Signs in at the provider of an MCP backend in a second window, and the page that this window ends on.

import type {
  McpBackendView,
  OAuthFinish,
  OAuthFinished,
  OAuthStart,
  OAuthStarted,
} from '../../admin/page-api/page-api-types.ts'
import { html, useEffect, useRef, useState } from '../page-view.ts'
import type { VNode } from '../page-view.ts'
import { post, RequestError } from '../server-data.ts'
import { Copy } from '../parts/elements.ts'
import { maskToken } from './playground-session.ts'
import type { Token } from './playground-session.ts'
import type { Playground } from './playground-view.ts'

interface Props {
  readonly backend: McpBackendView
  readonly token: Token
  readonly setToken: (token: Token) => void
  readonly playground: Playground
}

/** The status for a provider that refuses to register a client. */
const CLIENT_ID_REQUIRED = 422

export function SignIn({ backend, token, setToken, playground }: Props): VNode {
  const [clientId, setClientId] = useState('')
  const { login, begin, cancel } = useLogin(({ accessToken, expiresIn }) => {
    const expiresAt = expiresIn === null ? null : Date.now() + expiresIn * 1_000
    setToken({ text: accessToken, expiresAt })
    playground.connect(accessToken)
  })
  const host = new URL(backend.authentication?.issuer ?? 'http://provider.invalid').host
  const wantsClient = login.state === 'failed' && login.wants === 'client'
  return html`
    ${token.text !== '' && html`<span class="dim">signed in, token ${maskToken(token)}</span>`}
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
        ? html`<${Waiting} host=${host} url=${login.url} cancel=${cancel} />`
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
  readonly cancel: () => void
}): VNode {
  const { host, url, cancel } = props
  return html`
    <span class="dim" role="status">Waiting for ${host}…</span>
    ${url !== '' && html`<a href=${url} target="_blank" rel="noopener">No window opened? Open it here</a>`}
    <button type="button" onClick=${cancel}>Cancel</button>
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
            Enter the id of a public client (no secret, PKCE) that is registered there with this
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

interface LoginHandle {
  readonly login: LoginState
  readonly begin: (backend: string, clientId: string) => void
  readonly cancel: () => void
}

function useLogin(taken: (finished: OAuthFinished) => void): LoginHandle {
  const [login, set] = useState<LoginState>({ state: 'idle' })
  const controller = useRef<AbortController | null>(null)
  const cancel = (): void => {
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
        const isOurs = error instanceof RequestError && error.status === CLIENT_ID_REQUIRED
        const words = error instanceof Error ? error.message : String(error)
        set({ state: 'failed', words, wants: isOurs ? 'client' : 'nothing' })
      },
    )
  }
  useEffect(() => () => controller.current?.abort(), [])
  return { login, begin, cancel }
}

const CHANNEL = 'gateway-signed-in'
const SIGNED_IN = '/ui/signed-in'
const LOGIN_MS = 600_000
/** Length of a provider's error text that is shown. */
const MAX_ERROR_LENGTH = 300

/** Parameters of the provider's redirect. */
export interface RedirectResult {
  readonly state: string
  readonly code: string | null
  readonly iss: string | null
  readonly error: string | null
}

export interface Login {
  readonly backend: string
  /** '' registers a client at the provider. */
  readonly clientId: string
  readonly signal: AbortSignal
  /** Called with the address, for browsers that block the window. */
  readonly opened: (url: string) => void
}

/** Whether this page is the target of the provider's redirect. */
export function isRedirectTarget(): boolean {
  return location.pathname === SIGNED_IN
}

function redirectUri(): string {
  return `${location.origin}${SIGNED_IN}`
}

/** Throws a RequestError, or an error with the provider's text. Opens a window, so call it in a click handler. */
async function signIn({ backend, clientId, signal, opened }: Login): Promise<OAuthFinished> {
  // Before anything asynchronous, or the browser blocks the window as a pop-up.
  const popup = window.open('', '_blank')
  // The provider's page must not be able to navigate this page.
  if (popup !== null) popup.opener = null
  try {
    const asked = { backend, redirectUri: redirectUri(), ...(clientId === '' ? {} : { clientId }) }
    const { url, state } = await post<OAuthStarted>('/api/oauth/start', asked satisfies OAuthStart)
    if (!/^https?:\/\//.test(url)) throw new Error('the provider has no sign-in page')
    popup?.location.replace(url)
    opened(url)
    const back = await awaitRedirect(state, signal)
    if (back.code === null) throw new Error(back.error ?? 'the provider sent no code')
    const { code, iss } = back
    return await post<OAuthFinished>('/api/oauth/finish', {
      state,
      code,
      iss,
    } satisfies OAuthFinish)
  } catch (error) {
    popup?.close()
    throw error
  }
}

function awaitRedirect(state: string, signal: AbortSignal): Promise<RedirectResult> {
  const channel = new BroadcastChannel(CHANNEL)
  const waited = new Promise<RedirectResult>((resolve, reject) => {
    const late = setTimeout(
      () => reject(new Error('the provider did not redirect back in time')),
      LOGIN_MS,
    )
    signal.addEventListener('abort', () => reject(new Error('cancelled')), { once: true })
    // Another tab may wait for its own login.
    channel.onmessage = ({ data }: MessageEvent<RedirectResult>) => {
      if (data.state !== state) return
      clearTimeout(late)
      resolve(data)
    }
  })
  return waited.finally(() => channel.close())
}

/** Passes the result from the redirected window to the page that waits. */
function reportRedirect(query: URLSearchParams): RedirectResult {
  const error = [query.get('error'), query.get('error_description')].filter((one) => one !== null)
  const back = {
    state: query.get('state') ?? '',
    code: query.get('code'),
    iss: query.get('iss'),
    error: error.length === 0 ? null : error.join(': ').slice(0, MAX_ERROR_LENGTH),
  }
  const channel = new BroadcastChannel(CHANNEL)
  channel.postMessage(back)
  channel.close()
  // Removes the authorization code from the address and the history.
  history.replaceState(null, '', SIGNED_IN)
  return back
}

export function SignedIn(): VNode {
  const [back, setBack] = useState<RedirectResult | null>(null)
  useEffect(() => {
    document.title = 'Signed in · gateway'
    const result = reportRedirect(new URLSearchParams(location.search))
    setBack(result)
    if (result.error === null) window.close()
  }, [])
  return html`
    <main class="signed-in">
      <div class="card">
        ${
          back?.error == null
            ? html`
                <h1>Signed in</h1>
                <p>The playground continues in the other window. You can close this one.</p>
              `
            : html`
                <h1>Not signed in</h1>
                <p class="bad" role="alert">
                  The provider refused the sign-in. The playground shows the reason.
                </p>
                <p>Close this window and try again there.</p>
              `
        }
      </div>
    </main>
  `
}
