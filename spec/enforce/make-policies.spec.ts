import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { IdentityStore } from '../../lib/enforce/auth/identity.ts'
import { PolicyFactory } from '../../lib/enforce/make-policies.ts'
import type { Policy } from '../../lib/core/types.ts'
import { firstListener, ungatedConfig } from '../support/config.ts'
import { LogRecorder } from '../support/gateway.ts'

const order = suite('the order of policies')

const identity = new IdentityStore(new LogRecorder(() => {}))
order.after(() => identity.close())

const KEYS = `'{"keys":[{"kid":"k","kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}'`

/** In another order than the result, to show that the written order does not matter. */
const ADMISSION = [
  'transformations: { request: { set: { a: "1" } } }',
  'authorization: { rules: ["true"] }',
  'apiKey: { keys: [{ key: k }] }',
  'basicAuth: { htpasswd: "u:{SHA}pZGm1Av0IEBKARczz7exkNYsZb8=" }',
  `jwtAuth: { issuer: "http://i", jwks: ${KEYS} }`,
  'cors: { allowOrigins: ["*"] }',
]

const ADMITTED = ['cors', 'jwtAuth', 'basicAuth', 'apiKey', 'authorization', 'transformations']

const MODIFIERS = 'requestHeaderModifier: {}, responseHeaderModifier: {}'

function configOf(route: string, backend = '', listener = '') {
  const text = `
gateways: { g: { port: 3000, listeners: [{ name: l, protocol: HTTP, ${listener} }] } }
routes: [{ gateways: g, backends: [{ host: "a:1", policies: { ${backend} } }], policies: { ${route} } }]`
  return firstListener(ungatedConfig(text))
}

function kindsOf(policies: readonly Policy[]): string[] {
  return policies.map(({ kind }) => kind)
}

const maker = new PolicyFactory(identity)

order('is fixed at a route, in any written order', () => {
  const written = [
    'directResponse: { status: 200 }',
    'urlRewrite: { path: { full: /x } }',
    MODIFIERS,
    'timeout: { requestTimeout: 1s }',
    ...ADMISSION,
  ]
  const { routes } = configOf(written.join(', '))
  assert.equal(kindsOf(maker.createForRoute(routes[0]!.policies)), [
    ...ADMITTED,
    'responseHeaderModifier',
    'requestHeaderModifier',
    'urlRewrite',
    'directResponse',
  ])
  const both = 'directResponse: { status: 200 }, requestRedirect: { scheme: https }'
  assert.equal(kindsOf(maker.createForRoute(configOf(both).routes[0]!.policies)), [
    'requestRedirect',
    'directResponse',
  ])
  assert.equal(maker.createForRoute(configOf('').routes[0]!.policies), [])
})

order('is the same at a listener', () => {
  assert.equal(
    kindsOf(maker.createForListener(configOf('', '', ADMISSION.join(', ')).policies)),
    ADMITTED,
  )
  assert.equal(maker.createForListener(configOf('').policies), [])
})

order('ends at a backend with its credential', () => {
  const backend = `backendAuth: { key: k }, ${MODIFIERS},
    transformations: { request: { set: { a: "1" } } }, authorization: { rules: ["true"] }`
  const { backends, policies } = configOf('', backend).routes[0]!
  assert.equal(kindsOf(maker.createForBackend(backends[0]!.policies, policies)), [
    'authorization',
    'transformations',
    'responseHeaderModifier',
    'requestHeaderModifier',
    'backendAuth',
  ])
  const route = configOf('backendAuth: { key: k }').routes[0]!
  assert.equal(kindsOf(maker.createForRoute(route.policies)), [])
  assert.equal(kindsOf(maker.createForBackend(route.backends[0]!.policies, route.policies)), [
    'backendAuth',
  ])
})

order.run()
