// One run of a real Keycloak with a realm for MCP as an operator would set it up, and the calls of its admin API for that.

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

/** The used members of its responses. */
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
  #output = ''

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
      // In its own process group: the shell script starts Java, and both must be ended.
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

  /** Sets the hosts allowed in redirect URIs. The sender is not checked, because the gateway sends registrations. */
  async trust(hosts: readonly string[]): Promise<void> {
    const policy = await this.#policy('Trusted Hosts')
    const config = {
      'host-sending-registration-request-must-match': ['false'],
      'client-uris-must-match': ['true'],
      'trusted-hosts': [...hosts],
    }
    await this.#ask('PUT', `/components/${policy.id}`, { ...policy, config })
  }

  /** Adds a key of higher priority that signs from now on; the old keys stay published. */
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
    await deadline(this.#ended, STOP_MS, 'Keycloak to exit after SIGKILL')
  }

  async #listening(): Promise<void> {
    return new Promise((resolve, reject) => {
      const onOutput = (text: string): void => {
        this.#output = (this.#output + text).slice(-20_000)
        if (/ Listening on: /.test(this.#output)) resolve()
      }
      for (const stream of [this.#child.stdout, this.#child.stderr])
        stream?.setEncoding('utf8').on('data', onOutput)
      this.#child.once('error', reject)
      void this.#ended.then(() => reject(new Error(`Keycloak ended: ${this.#output}`)))
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
        // Also in the scope `roles`, but a client that registers only for `mcp` does not get that scope.
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
    // With this policy, tokens of dynamically registered clients would contain no roles.
    const full = await this.#policy('Full Scope Disabled')
    await this.#ask('DELETE', `/components/${full.id}`)
    await this.trust(['127.0.0.1'])
  }

  /** A policy for anonymous client registration. */
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

  /** A new token for each request, because admin tokens are short-lived. */
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
