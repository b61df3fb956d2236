// A login at the provider of an MCP backend, in a window of its own. What comes back is told between pages of this origin
// only, and the token is kept in memory only.

import type {
  OAuthFinish,
  OAuthFinished,
  OAuthStart,
  OAuthStarted,
} from '../../../admin/page-api/page-api-types.ts'
import { post } from '../api.ts'

const CHANNEL = 'gateway-signed-in'
const SIGNED_IN = '/ui/signed-in'
const LOGIN_MS = 600_000
/** Letters of a provider's words that are shown. */
const MAX_WORDS = 300

/** What a provider sends along with the browser. */
export interface Back {
  readonly state: string
  readonly code: string | null
  readonly iss: string | null
  readonly error: string | null
}

export interface Login {
  readonly backend: string
  /** '' lets the provider register one. */
  readonly clientId: string
  readonly signal: AbortSignal
  /** Told where to go, for those whose browser opens no window by itself. */
  readonly opened: (url: string) => void
}

/** Whether this page is the one that a provider sends people back to. */
export function isSignedIn(): boolean {
  return location.pathname === SIGNED_IN
}

export function redirectUri(): string {
  return `${location.origin}${SIGNED_IN}`
}

/** Throws a Refused, or an error in the provider's words. Call it where somebody has clicked: a window opens. */
export async function signIn({ backend, clientId, signal, opened }: Login): Promise<OAuthFinished> {
  // At once, or the browser takes it for an advertisement.
  const place = window.open('', '_blank')
  // What is there later must not lead this page elsewhere.
  if (place !== null) place.opener = null
  try {
    const asked = { backend, redirectUri: redirectUri(), ...(clientId === '' ? {} : { clientId }) }
    const { url, state } = await post<OAuthStarted>('/api/oauth/start', asked satisfies OAuthStart)
    if (!/^https?:\/\//.test(url)) throw new Error('the provider has no page to sign in at')
    place?.location.replace(url)
    opened(url)
    const back = await backFrom(state, signal)
    if (back.code === null) throw new Error(back.error ?? 'the provider sent no code')
    const { code, iss } = back
    return await post<OAuthFinished>('/api/oauth/finish', {
      state,
      code,
      iss,
    } satisfies OAuthFinish)
  } catch (error) {
    place?.close()
    throw error
  }
}

function backFrom(state: string, signal: AbortSignal): Promise<Back> {
  const channel = new BroadcastChannel(CHANNEL)
  const waited = new Promise<Back>((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('nobody came back from the provider')), LOGIN_MS)
    signal.addEventListener('abort', () => reject(new Error('given up')), { once: true })
    // Another page of this gateway may wait for a login of its own.
    channel.onmessage = ({ data }: MessageEvent<Back>) => {
      if (data.state !== state) return
      clearTimeout(late)
      resolve(data)
    }
  })
  return waited.finally(() => channel.close())
}

/** Told to the page that waits, by the one that the provider has sent somebody back to. */
export function tellBack(query: URLSearchParams): Back {
  const error = [query.get('error'), query.get('error_description')].filter((one) => one !== null)
  const back = {
    state: query.get('state') ?? '',
    code: query.get('code'),
    iss: query.get('iss'),
    error: error.length === 0 ? null : error.join(': ').slice(0, MAX_WORDS),
  }
  const channel = new BroadcastChannel(CHANNEL)
  channel.postMessage(back)
  channel.close()
  // The code is of no use to whoever looks at the address later.
  history.replaceState(null, '', SIGNED_IN)
  return back
}
