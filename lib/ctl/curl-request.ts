// Sends the request to be traced with curl, always to this machine, whatever host the URL names. On a machine without
// curl gwctl sends the request itself and supports the most common arguments of curl.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { TRACE_TOKEN_HEADER } from '../trace-view/trace-token.ts'

/** A request that curl arguments describe. */
interface RequestDescription {
  readonly url: URL
  readonly method: string
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer | null
  readonly certificate: 'verify' | 'ignore'
}

type CurlResult =
  | { readonly kind: 'missing' }
  | { readonly kind: 'ended'; readonly code: number | null; readonly errors: string }

const MAX_ERROR_CHARS = 4_096
const RESPONSE_TIMEOUT = 300_000

const LONG_NAMES: Readonly<Record<string, string>> = {
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

export function hasUrl(args: readonly string[]): boolean {
  return args.some((arg) => /^https?:\/\//i.test(arg))
}

/** One request that is sent once. */
export class CurlRequest {
  readonly port: number
  readonly args: readonly string[]
  /** Marks the request, so that no other request gets its trace. */
  readonly token: string
  #child: ChildProcess | null = null
  #state: 'idle' | 'running' | 'stopped' = 'idle'

  constructor(port: number, args: readonly string[], token: string) {
    this.port = port
    this.args = args
    this.token = token
  }

  /** Resolves after the response. `curlErrors`: print them to standard error, or only add them to the error. */
  async send(curlErrors: 'print' | 'capture'): Promise<void> {
    if (this.#state !== 'idle') return
    this.#state = 'running'
    const result = await this.#runCurl(curlErrors)
    if (result.kind === 'missing') {
      if (curlErrors === 'print')
        process.stderr.write('curl was not found: gwctl sends the request itself\n')
      return sendWithoutCurl(this)
    }
    if (result.code !== 0 && this.#isRunning())
      throw new Error(
        [`curl failed with exit code ${result.code}`, result.errors].filter(Boolean).join(': '),
      )
  }

  stop(): void {
    this.#state = 'stopped'
    this.#child?.kill()
  }

  #isRunning(): boolean {
    return this.#state === 'running'
  }

  /** The output of curl is ignored: the trace holds the response body. */
  #runCurl(curlErrors: 'print' | 'capture'): Promise<CurlResult> {
    const [stdin, stderr] =
      curlErrors === 'print' ? (['inherit', 'inherit'] as const) : (['ignore', 'pipe'] as const)
    const child = spawn('curl', curlArguments(this), {
      stdio: [stdin, 'ignore', stderr],
    })
    this.#child = child
    let errors = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      errors = (errors + text).slice(0, MAX_ERROR_CHARS)
    })
    return new Promise((resolve, reject) => {
      child.once('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') resolve({ kind: 'missing' })
        else reject(new Error(`cannot run curl: ${error.message}`, { cause: error }))
      })
      child.once('close', (code) => resolve({ kind: 'ended', code, errors: errors.trim() }))
    })
  }
}

/** Every host and port leads to the listener, also after a redirect, and never through a proxy. */
function curlArguments({ port, args, token }: CurlRequest): string[] {
  const own = ['--silent', '--show-error', '--noproxy', '*', '--connect-to', `::127.0.0.1:${port}`]
  return [...own, '--header', `${TRACE_TOKEN_HEADER}: ${token}`, ...args]
}

function sendWithoutCurl({ port, args, token }: CurlRequest): Promise<void> {
  const { url, method, headers, body, certificate } = describeRequest(args)
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: '127.0.0.1',
      port,
      method,
      path: url.pathname + url.search,
      headers: { ...Object.fromEntries(headers), [TRACE_TOKEN_HEADER]: token },
      agent: false,
      timeout: RESPONSE_TIMEOUT,
      servername: url.hostname,
      rejectUnauthorized: certificate === 'verify',
    })
    outgoing.once('timeout', () => outgoing.destroy(new Error('response timed out')))
    outgoing.once('error', (error) => reject(new Error(`request failed: ${error.message}`)))
    outgoing.once('response', (response) => {
      response.once('error', (error) =>
        reject(new Error(`response was interrupted: ${error.message}`)),
      )
      response.once('end', resolve).resume()
    })
    outgoing.end(body ?? undefined)
  })
}

/** Throws at an argument that gwctl does not support. */
export function describeRequest(args: readonly string[]): RequestDescription {
  const options = parseCurlArguments(args)
  const [address] = options.get('url') ?? []
  if (address === undefined || !URL.canParse(address)) throw new Error(`invalid URL ${address}`)
  const url = new URL(address)
  const headers = new Map<string, string>([
    ['host', url.host],
    ['user-agent', 'gwctl'],
    ['accept', '*/*'],
  ])
  const body = buildBody(options, headers)
  const [user] = options.get('user') ?? []
  if (user !== undefined)
    headers.set('authorization', `Basic ${Buffer.from(user).toString('base64')}`)
  for (const agent of options.get('user-agent') ?? []) headers.set('user-agent', agent)
  for (const header of options.get('header') ?? []) setHeader(headers, header)
  const method = options.get('request')?.at(-1) ?? (body === null ? 'GET' : 'POST')
  if (body !== null) headers.set('content-length', String(body.length))
  return { url, method, headers, body, certificate: options.has('insecure') ? 'ignore' : 'verify' }
}

function parseCurlArguments(args: readonly string[]): Map<string, string[]> {
  const options = new Map<string, string[]>()
  const add = (name: string, value: string): void => {
    options.set(name, [...(options.get(name) ?? []), value])
  }
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!
    if (!arg.startsWith('-')) {
      add('url', arg)
      continue
    }
    const isShort = !arg.startsWith('--')
    const name = isShort ? (LONG_NAMES[arg.charAt(1)] ?? arg) : arg.slice(2)
    const joined = isShort ? arg.slice(2) : ''
    if (SWITCHES.has(name) && joined === '') add(name, '')
    else if (!WITH_VALUE.has(name))
      throw new Error(`curl was not found, and gwctl itself does not support ${arg}`)
    else if (joined === '' && args[at + 1] === undefined) throw new Error(`${arg} needs a value`)
    // All options for data share one list, because their order matters.
    else if (name.startsWith('data')) add('body', `${name}:${joined || args[++at]!}`)
    else add(name, joined || args[++at]!)
  }
  return options
}

/** Joins several values with `&`, like a form. `@file` is read; line ends are removed unless it is binary. */
function buildBody(
  options: ReadonlyMap<string, string[]>,
  headers: Map<string, string>,
): Buffer | null {
  const json = options.get('json')
  if (json !== undefined) {
    headers.set('content-type', 'application/json').set('accept', 'application/json')
    return Buffer.concat(json.map((text) => readData(text, 'data-binary')))
  }
  const parts = options.get('body')
  if (parts === undefined) return null
  headers.set('content-type', 'application/x-www-form-urlencoded')
  const data = parts.map((part) => {
    const [name = '', ...text] = part.split(':')
    return readData(text.join(':'), name)
  })
  return Buffer.concat(
    data.flatMap((bytes, at) => (at === 0 ? [bytes] : [Buffer.from('&'), bytes])),
  )
}

function readData(text: string, name: string): Buffer {
  if (name === 'data-raw' || !text.startsWith('@')) return Buffer.from(text)
  const file = text.slice(1)
  const bytes = readFileSync(file === '-' ? 0 : file)
  return name === 'data' ? Buffer.from(bytes.filter((byte) => byte !== 10 && byte !== 13)) : bytes
}

/** `Name:` removes a header, `Name;` sends it without a value. */
function setHeader(headers: Map<string, string>, text: string): void {
  const [, name = '', mark = '', value = ''] = /^([^:;]+)([:;])\s*([^]*)$/.exec(text) ?? []
  if (name === '') throw new Error(`invalid header ${text}`)
  if (mark === ':' && value === '') headers.delete(name.toLowerCase())
  else headers.set(name.toLowerCase(), value)
}
