// Sends a request without curl, for machines that have none: the few of its arguments that matter most.

import { readFileSync } from 'node:fs'
import { request as requestPlain } from 'node:http'
import { request as requestTls } from 'node:https'

/** A request as curl's arguments describe it. */
export interface Described {
  readonly url: URL
  readonly method: string
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer | null
  readonly certificate: 'checked' | 'any'
}

const LONG: Readonly<Record<string, string>> = {
  X: 'request',
  H: 'header',
  d: 'data',
  u: 'user',
  k: 'insecure',
  s: 'silent',
  S: 'show-error',
  A: 'user-agent',
}
const WITH_VALUE = new Set([
  ...['request', 'header', 'data', 'data-raw', 'data-binary', 'json', 'user', 'user-agent', 'url'],
])
const SWITCHES = new Set(['insecure', 'silent', 'show-error'])
const ANSWER_TIMEOUT = 300_000

export function sendWithout(port: number, args: readonly string[]): Promise<void> {
  const { url, method, headers, body, certificate } = describe(args)
  const request = url.protocol === 'https:' ? requestTls : requestPlain
  return new Promise((resolve, reject) => {
    const asking = request({
      host: '127.0.0.1',
      port,
      method,
      path: url.pathname + url.search,
      headers: Object.fromEntries(headers),
      agent: false,
      timeout: ANSWER_TIMEOUT,
      servername: url.hostname,
      rejectUnauthorized: certificate === 'checked',
    })
    asking.once('timeout', () => asking.destroy(new Error('no answer in time')))
    asking.once('error', (error) => reject(new Error(`request failed: ${error.message}`)))
    asking.once('response', (response) => {
      response.once('error', (error) => reject(new Error(`answer broke off: ${error.message}`)))
      response.once('end', resolve).resume()
    })
    asking.end(body ?? undefined)
  })
}

/** Throws at an argument it does not know. */
export function describe(args: readonly string[]): Described {
  const given = givenBy(args)
  const [address] = given.get('url') ?? []
  if (address === undefined || !URL.canParse(address)) throw new Error(`invalid URL ${address}`)
  const url = new URL(address)
  const headers = new Map<string, string>([
    ['host', url.host],
    ['user-agent', 'gwctl'],
    ['accept', '*/*'],
  ])
  const body = bodyOf(given, headers)
  const [user] = given.get('user') ?? []
  if (user !== undefined)
    headers.set('authorization', `Basic ${Buffer.from(user).toString('base64')}`)
  for (const agent of given.get('user-agent') ?? []) headers.set('user-agent', agent)
  for (const header of given.get('header') ?? []) setHeader(headers, header)
  const method = given.get('request')?.at(-1) ?? (body === null ? 'GET' : 'POST')
  if (body !== null) headers.set('content-length', String(body.length))
  return { url, method, headers, body, certificate: given.has('insecure') ? 'any' : 'checked' }
}

function givenBy(args: readonly string[]): Map<string, string[]> {
  const given = new Map<string, string[]>()
  const add = (name: string, value: string): void => {
    given.set(name, [...(given.get(name) ?? []), value])
  }
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!
    if (!arg.startsWith('-')) {
      add('url', arg)
      continue
    }
    const isShort = !arg.startsWith('--')
    const name = isShort ? (LONG[arg.charAt(1)] ?? arg) : arg.slice(2)
    const joined = isShort ? arg.slice(2) : ''
    if (SWITCHES.has(name) && joined === '') add(name, '')
    else if (!WITH_VALUE.has(name))
      throw new Error(`curl was not found, and gwctl does not know ${arg} itself`)
    else if (joined === '' && args[at + 1] === undefined) throw new Error(`${arg} needs a value`)
    // Bodies have several spellings, and their order counts.
    else if (name.startsWith('data')) add('body', `${name}:${joined || args[++at]!}`)
    else add(name, joined || args[++at]!)
  }
  return given
}

/** Several are joined by `&`, as forms are; `@file` is read, without its line ends unless it is binary. */
function bodyOf(given: ReadonlyMap<string, string[]>, headers: Map<string, string>): Buffer | null {
  const json = given.get('json')
  if (json !== undefined) {
    headers.set('content-type', 'application/json').set('accept', 'application/json')
    return Buffer.concat(json.map((text) => content(text, 'data-binary')))
  }
  const parts = given.get('body')
  if (parts === undefined) return null
  headers.set('content-type', 'application/x-www-form-urlencoded')
  const read = parts.map((part) => {
    const [name = '', ...text] = part.split(':')
    return content(text.join(':'), name)
  })
  return Buffer.concat(
    read.flatMap((bytes, at) => (at === 0 ? [bytes] : [Buffer.from('&'), bytes])),
  )
}

function content(text: string, name: string): Buffer {
  if (name === 'data-raw' || !text.startsWith('@')) return Buffer.from(text)
  const file = text.slice(1)
  const bytes = readFileSync(file === '-' ? 0 : file)
  return name === 'data' ? Buffer.from(bytes.filter((byte) => byte !== 10 && byte !== 13)) : bytes
}

/** `Name:` takes one away, `Name;` sends it empty. */
function setHeader(headers: Map<string, string>, text: string): void {
  const [, name = '', mark = '', value = ''] = /^([^:;]+)([:;])\s*([^]*)$/.exec(text) ?? []
  if (name === '') throw new Error(`invalid header ${text}`)
  if (mark === ':' && value === '') headers.delete(name.toLowerCase())
  else headers.set(name.toLowerCase(), value)
}
