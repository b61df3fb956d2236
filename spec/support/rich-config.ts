// A configuration that uses nearly every field.

export const RICH_CONFIG = `config:
  adminAddr: localhost:15000
  statsAddr: '[::1]:15020'
  logging: { level: [info, accept=debug], format: json }
  sensitiveHeaders: [x-api-key]
  connectionTerminationDeadline: 5s
  backend: { connectTimeout: 2s, poolMaxSize: 10, poolMaxWaiting: 0 }
  llm: { maxHeldBytes: 65536, maxHeldTogether: 1048576 }
frontendPolicies:
  http: { maxHeadBytes: 2048, headTimeout: 3s }
  tls: { handshakeTimeout: 1s }
gateways:
  default:
    port: \${PORT:-3000}
    authorization: { rules: ['request.method != "TRACE"'] }
  multi:
    port: 3001
    address: 127.0.0.1
    listeners:
      - { name: a, hostname: a.example.com, apiKey: { keys: [{ key: k, metadata: { user_id: u } }] } }
      - { hostname: '*.example.com', cors: { allowOrigins: ['https://*.example.com'] } }
backends:
  - { name: app, host: 'app:8080', policies: { backendAuth: { key: hush } } }
routes:
  - name: api
    gateways: [default, multi/a]
    hostnames: [api.example.com]
    matches:
      - path: { regex: '/v[0-9]+/.*' }
        method: POST
        headers: [{ name: x-a, value: { exact: b } }]
        query: [{ name: q, value: { regex: '1|2' } }]
      - path: { pathPrefix: /x }
    policies: &policies
      requestHeaderModifier: { add: { x-a: b }, set: { x-c: d }, remove: [x-e] }
      responseHeaderModifier: { set: { x-f: g } }
      urlRewrite: { authority: { host: h }, path: { full: /y } }
      cors: { allowOrigins: ['*'], allowMethods: [GET], maxAge: 1h }
      timeout: { requestTimeout: 10s, backendRequestTimeout: 5s }
      retry: { attempts: 2, backoff: 10ms, codes: [503] }
      jwtAuth: { mode: strict, issuer: 'https://i', audiences: [a], jwks: 'https://i/k' }
      basicAuth: { htpasswd: 'a:b', realm: r }
      authorization: { rules: ['"a" in jwt.roles', { deny: 'source.address == "1.2.3.4"' }] }
      transformations: { request: { set: { x-user: jwt.sub } }, response: { remove: [server] } }
      rateLimit:
        local: [{ requests: 5, unit: Seconds, burst: 2, key: jwt.sub }, { tokens: 9, unit: Hours }]
        global:
          host: rls:8081
          domain: d
          descriptors: [{ entries: [{ name: u, expression: jwt.sub }], unit: Tokens }]
      csrf: { additionalOrigins: ['https://a.com'] }
      delay: { duration: 'duration("1s")' }
      requestMirror: { backend: { host: 'm:1' }, percentage: 0.5 }
      backendAuth: { passthrough: {} }
    backends:
      - { backend: app, weight: 2 }
      - { host: '[::1]:81', policies: { requestHeaderModifier: { remove: [x-z] } } }
  - name: tools
    policies:
      mcpAuthentication:
        mode: strict
        issuer: https://login.example.com/tenant/v2.0
        audiences: [api://c, c]
        provider: { idp_tenant: {} }
        jwks: '{"keys":[{"kid":"k","kty":"EC","crv":"P-256","x":"KQO7z0SBuAW5kti_y4Yp9rxxqeH3ClYVLcxs51eDZ8g","y":"a-Ldix0cjg9g3M9CfAI8kKc6C6onkFLOUOnhAiGKFB0"}]}'
        clientId: c
        clientSecret: s
        resourceMetadata: { resource: 'http://localhost:3000/mcp', scopesSupported: [read] }
      mcpAuthorization: { rules: ['mcp.tool.name == "echo"'] }
      localRateLimit: [{ maxTokens: 5, tokensPerFill: 5, fillInterval: 1m }]
    backends: [{ mcp: { targets: [{ name: a, stdio: { cmd: x, args: [y], env: { A: b } } }] } }]
  - name: chat
    matches: [{ path: { exact: /v1/chat/completions } }]
    policies:
      ai:
        modelAliases: { fast: gpt-4o-mini }
        routes: { /v1/chat: completions, '*': passthrough }
        defaults: { temperature: 0 }
        overrides: { user: u }
        usage: passthrough
      rateLimit: { local: [{ tokens: 100, unit: Minutes, key: llm.requestModel }] }
    backends:
      - ai:
          groups:
            - providers:
                - { name: o, provider: { openAI: {} }, hostOverride: 'h:1', policies: { backendAuth: { key: k } } }
                - { name: b, provider: { bedrock: { region: r } }, policies: { backendTLS: { hostname: h } } }
            - providers: [{ name: m, provider: { mock: { model: m } }, pathPrefix: /p }]
  - { name: gone, matches: [{ path: { exact: /old } }], policies: { requestRedirect: { path: { full: /new } } } }
  - { name: here, matches: [{ path: { exact: /here } }], policies: { directResponse: { status: 200, body: hi } } }
mcp:
  port: 3002
  prefixMode: always
  failureMode: failClosed
  targets:
    - { name: b, mcp: { host: 'https://mcp.example.com/mcp' }, policies: { backendAuth: { key: k } } }
    - { name: c, sse: { host: localhost, port: 81, path: /sse } }
  policies: { cors: { allowOrigins: ['*'], exposeHeaders: [Mcp-Session-Id] } }
llm:
  port: 4000
  providers: [{ name: p, provider: azure, params: { azureResourceName: r, azureResourceType: openAI } }]
  models:
    - { name: gpt-*, provider: { reference: p }, params: { model: m }, defaults: { temperature: 0 } }
    - { name: own, provider: { custom: { formats: [{ type: completions }] } }, params: { baseUrl: 'http://h/v1', apiKey: k } }
  virtualModels:
    - { name: v, routing: { conditional: { targets: [{ when: 'jwt.sub == "a"', model: own }, { model: gpt-* }] } } }
ui: { gateways: default, policies: { basicAuth: { htpasswd: 'a:b' }, csrf: {} } }
---
apiVersion: gateway.dev/v1alpha1
kind: GatewayPolicy
metadata: { name: limit, namespace: default }
spec:
  targetRefs:
    - { group: gateway.networking.k8s.io, kind: HTTPRoute, name: api }
    - { kind: Gateway, name: default }
  traffic: { rateLimit: { local: [{ requests: 10, unit: Minutes, key: apiKey.user_id }] } }
`
