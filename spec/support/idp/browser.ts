// A minimal browser from the authorization endpoint to the client's callback: keeps cookies, follows redirects, and fills
// in the login form if there is one.

import { deadline } from '../deadline.ts'

const WAIT_MS = 30_000
const MAX_HOPS = 20

export interface Password {
  readonly username: string
  readonly password: string
}

/** The callback URL with its parameters, at which the browser arrives. */
export async function browse(start: URL, callback: string, user?: Password): Promise<URL> {
  const cookies = new Map<string, string>()
  let url = start
  let form: URLSearchParams | null = null
  for (let hop = 0; hop < MAX_HOPS; hop++) {
    if (url.href.startsWith(callback)) return url
    const response: Response = await deadline(visit(url, form, cookies), WAIT_MS, url.pathname)
    saveCookies(response, cookies)
    const location = response.headers.get('location')
    if (location === null) {
      const page = await response.text()
      const action = user === undefined ? null : actionOf(page)
      if (action === null)
        throw new Error(
          `no redirect and no form at ${url.href}: ${response.status} ${page.slice(0, 2_000)}`,
        )
      url = new URL(action, url)
      // `accept` is for the consent page.
      form = new URLSearchParams({ ...user, accept: 'Yes' })
    } else {
      await response.body?.cancel()
      url = new URL(location, url)
      form = null
    }
  }
  throw new Error(`more than ${MAX_HOPS} redirects from ${start.href}`)
}

async function visit(
  url: URL,
  form: URLSearchParams | null,
  cookies: ReadonlyMap<string, string>,
): Promise<Response> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  return fetch(url, {
    method: form === null ? 'GET' : 'POST',
    redirect: 'manual',
    headers: { cookie },
    body: form,
  })
}

function saveCookies(response: Response, cookies: Map<string, string>): void {
  for (const text of response.headers.getSetCookie()) {
    const [pair = ''] = text.split(';')
    const at = pair.indexOf('=')
    const [name, value] = [pair.slice(0, at), pair.slice(at + 1)]
    if (value === '' || /;\s*max-age=0/i.test(text)) cookies.delete(name)
    else cookies.set(name, value)
  }
}

function actionOf(page: string): string | null {
  const [, action] = /<form[^>]*\saction="([^"]+)"/.exec(page) ?? []
  return action?.replaceAll('&amp;', '&') ?? null
}
