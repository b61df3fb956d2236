// One run of a real Keycloak with a realm as an operator would set it up for MCP, and the parts of its admin API for that.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../../conformance/gateway-process.ts'
import { deadline } from '../deadline.ts'
import { ROOT } from '../root.ts'
import { ask } from './ask-mcp.ts'
import type { Password } from './browser.ts'
import { JAVA_OPTS } from './keycloak-files.ts'

/** The audience that the client scope `mcp` adds to every token. */
export const AUDIENCE = 'https://mcp.example'

const START_MS = 120_000
const STOP_MS = 20_000
const REALM = 'mcp'
const ADMIN = { username: 'admin', password: 'admin-planted-password' }
const POLICIES = 'org.keycloak.services.clientregistration.policy.ClientRegistrationPolicy'

/** What is read of its answers. */
interface Component {
  readonly id: string
  readonly name: string
  readonly config: Record<string, string[]>
}

export class Keycloak {
  readonly issuer: string
  readonly #origin: string
  readonly #child: ChildProcess
  readonly #ended: Promise<void>
  #said = ''

  private constructor(home: string, port: number, management: number) {
    this.#origin = `http://127.0.0.1:${port}`
    this.issuer = `${this.#origin}/realms/${REALM}`
    const args = ['start', '--optimized', '--cache=local', '--http-enabled=true']
    args.push('--hostname-strict=false', '--http-host=127.0.0.1', `--http-port=${port}`)
    args.push('--http-management-host=127.0.0.1', `--http-management-port=${management}`)
    this.#child = spawn(join(home, 'bin/kc.sh'), args, {
      env: {
        ...process.env,
        JAVA_OPTS,
        KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN.username,
        KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own: a shell script that starts Java, and both must go.
      detached: true,
    })
    this.#ended = new Promise((resolve) => this.#child.once('close', () => resolve()))
  }

  static async start(home: string): Promise<Keycloak> {
    const keycloak = new Keycloak(home, await freePort(), await freePort())
    try {
      await deadline(keycloak.#listening(), START_MS, 'Keycloak to start')
      await keycloak.#setUp()
      return keycloak
    } catch (error) {
      await keycloak.stop()
      throw error
    }
  }

  passwordOf(username: 'ada' | 'bob'): Password {
    return { username, password: `${username}-planted-password` }
  }

  /** Hosts that may stand in redirect URIs. Who sends the registration is not looked at: it is the gateway. */
  async trust(hosts: readonly string[]): Promise<void> {
    const policy = await this.#policy('Trusted Hosts')
    const config = {
      'host-sending-registration-request-must-match': ['false'],
      'client-uris-must-match': ['true'],
      'trusted-hosts': [...hosts],
    }
    await this.#ask('PUT', `/components/${policy.id}`, { ...policy, config })
  }

  /** A new key of higher rank signs from now on; the old ones are still published. */
  async rotate(priority: number): Promise<void> {
    await this.#ask('POST', '/components', {
      name: `rsa-${priority}`,
      providerId: 'rsa-generated',
      providerType: 'org.keycloak.keys.KeyProvider',
      config: { priority: [String(priority)], keySize: ['2048'] },
    })
  }

  async stop(): Promise<void> {
    const { pid } = this.#child
    if (pid === undefined) return
    const signal = (name: NodeJS.Signals): void => {
      if (this.#child.exitCode === null && this.#child.signalCode === null) process.kill(-pid, name)
    }
    signal('SIGTERM')
    await deadline(this.#ended, STOP_MS, 'Keycloak to stop').catch(() => signal('SIGKILL'))
    await deadline(this.#ended, STOP_MS, 'Keycloak to be gone')
  }

  async #listening(): Promise<void> {
    return new Promise((resolve, reject) => {
      const hear = (text: string): void => {
        this.#said = (this.#said + text).slice(-20_000)
        if (/ Listening on: /.test(this.#said)) resolve()
      }
      for (const stream of [this.#child.stdout, this.#child.stderr])
        stream?.setEncoding('utf8').on('data', hear)
      this.#child.once('error', reject)
      void this.#ended.then(() => reject(new Error(`Keycloak ended: ${this.#said}`)))
    })
  }

  async #setUp(): Promise<void> {
    const realm = readFileSync(join(ROOT, 'spec/support/idp/keycloak-realm.json'), 'utf8')
    await this.#ask('POST', '', JSON.parse(realm) as object, '/admin/realms')
    await this.#ask('POST', '/client-scopes', {
      name: 'mcp',
      protocol: 'openid-connect',
      attributes: { 'include.in.token.scope': 'true' },
      protocolMappers: [
        mapper('oidc-audience-mapper', { 'included.custom.audience': AUDIENCE }),
        // Also in the scope `roles`, which a client does not get that registers for `mcp` alone.
        mapper('oidc-usermodel-realm-role-mapper', {
          'claim.name': 'realm_access.roles',
          'jsonType.label': 'String',
          multivalued: 'true',
        }),
      ],
    })
    const scopes = await this.#ask<Component[]>('GET', '/client-scopes')
    const { id } = scopes.find(({ name }) => name === 'mcp')!
    await this.#ask('PUT', `/default-default-client-scopes/${id}`)
    // With it, no role would be in the tokens of clients that registered themselves.
    const full = await this.#policy('Full Scope Disabled')
    await this.#ask('DELETE', `/components/${full.id}`)
    await this.trust(['127.0.0.1'])
  }

  /** Of those for clients that register anonymously. */
  async #policy(name: string): Promise<Component> {
    const path = `/components?type=${POLICIES}&name=${encodeURIComponent(name)}`
    const [policy] = await this.#ask<Component[]>('GET', path)
    return policy!
  }

  async #ask<Answer>(
    method: string,
    path: string,
    body?: object,
    base = `/admin/realms/${REALM}`,
  ): Promise<Answer> {
    const headers: Record<string, string> = { authorization: `Bearer ${await this.#token()}` }
    if (body !== undefined) headers['content-type'] = 'application/json'
    const text = body === undefined ? null : JSON.stringify(body)
    const answer = await ask(`${this.#origin}${base}${path}`, { method, headers, body: text })
    if (answer.status >= 300)
      throw new Error(`Keycloak: ${method} ${path}: ${answer.status} ${answer.text}`)
    return (answer.text === '' ? null : JSON.parse(answer.text)) as Answer
  }

  /** They are short-lived. */
  async #token(): Promise<string> {
    const url = `${this.#origin}/realms/master/protocol/openid-connect/token`
    const body = new URLSearchParams({ ...ADMIN, grant_type: 'password', client_id: 'admin-cli' })
    const { text } = await ask(url, { method: 'POST', body })
    return (JSON.parse(text) as { access_token: string }).access_token
  }
}

function mapper(kind: string, config: Record<string, string>): object {
  return {
    name: kind,
    protocol: 'openid-connect',
    protocolMapper: kind,
    config: { 'access.token.claim': 'true', ...config },
  }
}
