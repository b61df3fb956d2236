// How the page asks its server.

/** What the process is, and where it listens; without the samples of the last minutes. */
export const RUNTIME = '/api/runtime?samples=0'

/** An answer that says why it is none. */
export class Refused extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await ask(path, { ...(signal && { signal }) })).json() as Promise<T>
}

export async function post<T>(path: string, body: unknown): Promise<T> {
  const headers = { 'content-type': 'application/json' }
  const response = await ask(path, { method: 'POST', headers, body: JSON.stringify(body) })
  return response.json() as Promise<T>
}

/** Without the user name and password that may stand in the address of the page: nothing is fetched with those. */
export function ownUrl(path: string): string {
  return location.origin + path
}

/** Throws a Refused for everything that is not 2xx. */
export async function ask(path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(ownUrl(path), { ...init, cache: 'no-store' })
  if (!response.ok) throw new Refused(response.status, await reasonOf(response))
  return response
}

async function reasonOf(response: Response): Promise<string> {
  const text = (await response.text()).trim()
  try {
    const { error } = JSON.parse(text) as { error?: unknown }
    if (typeof error === 'string') return error
  } catch {
    // Text, as policies answer.
  }
  return text || `${response.status} ${response.statusText}`
}
