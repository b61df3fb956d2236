// A configuration dump as a gateway gives it, with one of each: what specs of gwctl make tables of.

const KEY = 'gateway/default/default'

export const DUMP = {
  generation: 2,
  binds: [
    {
      key: 'bind/3000',
      address: '[::]:3000',
      listeners: {
        'gateway/default': {
          key: 'gateway/default',
          hostname: '',
          inlinePolicies: [{ cors: { allowOrigins: ['*'] } }],
          routes: {
            [`${KEY}/api`]: {
              key: `${KEY}/api`,
              name: 'api',
              hostnames: ['api.example.com'],
              matches: [
                {
                  path: { regex: '/v[0-9]+/.*' },
                  method: 'POST',
                  headers: [{ name: 'x-a', value: { exact: 'b' } }],
                  query: [{ name: 'q', value: { regex: '1|2' } }],
                },
                { path: { pathPrefix: '/x' }, headers: [], query: [] },
              ],
              backends: [
                { weight: 2, backend: `${KEY}/api/backend0` },
                { weight: 1, backend: `${KEY}/api/backend1` },
              ],
              inlinePolicies: [{ timeout: { requestTimeout: '10s' } }],
            },
            [`${KEY}/tools`]: {
              key: `${KEY}/tools`,
              name: 'tools',
              hostnames: [],
              matches: [{ path: { exact: '/mcp' } }],
              backends: [{ weight: 1, backend: `${KEY}/tools/backend0` }],
              inlinePolicies: [],
            },
          },
        },
      },
      inlinePolicies: [],
    },
  ],
  backends: [
    {
      backend: { host: { name: `${KEY}/api/backend0`, namespace: 'default', target: 'app:8080' } },
      inlinePolicies: [{ backendAuth: { header: { key: '<redacted>' } } }],
    },
    {
      backend: { host: { name: `${KEY}/api/backend1`, namespace: 'default', target: '[::1]:81' } },
      inlinePolicies: [],
    },
    {
      backend: {
        mcp: {
          name: `${KEY}/tools/backend0`,
          namespace: 'default',
          target: {
            targets: [
              { name: 'a', stdio: { cmd: 'serve', args: ['-v'] } },
              { name: 'b', mcp: { host: 'localhost', port: 99, path: '/mcp' } },
            ],
          },
        },
      },
    },
    {
      backend: {
        ai: {
          name: 'chat',
          namespace: 'default',
          target: {
            groups: [
              [
                { name: 'own', provider: { custom: { model: 'q' } }, endpoint: 'localhost:11434' },
                { name: 'far', provider: { openAI: {} } },
              ],
              [{ name: 'stand-in', provider: { mock: {} } }],
            ],
          },
        },
      },
    },
    {
      backend: {
        llm: {
          name: 'models',
          namespace: 'default',
          target: {
            models: [
              { name: 'gpt-*', entry: { name: 'oai', provider: { openAI: {} } } },
              { name: 'fast', entry: { name: 'mock', provider: { mock: { model: 'mini' } } } },
            ],
            virtualModels: [
              {
                name: 'a',
                routing: {
                  failover: {
                    targets: [
                      { model: 'x', priority: 2 },
                      { model: 'y', priority: 1 },
                      { model: 'z', priority: 2 },
                    ],
                  },
                },
              },
              {
                name: 'b',
                routing: {
                  weighted: {
                    targets: [
                      { model: 'x', weight: 2 },
                      { model: 'y', weight: 1 },
                    ],
                  },
                },
              },
              {
                name: 'c',
                routing: {
                  conditional: { targets: [{ model: 'x', when: 'true' }, { model: 'y' }] },
                },
              },
            ],
          },
        },
      },
      health: 0.75,
      requests: 12,
      latencyMs: 34.5,
    },
  ],
  policies: [
    {
      kind: 'GatewayPolicy',
      metadata: { name: 'per-client', namespace: 'default' },
      spec: {
        targetRefs: [{ kind: 'HTTPRoute', name: 'api' }],
        traffic: { rateLimit: { local: [{ requests: 100, unit: 'Minutes' }] } },
      },
      status: {
        ancestors: [
          {
            conditions: [
              { type: 'Accepted', status: 'True', reason: 'Accepted' },
              { type: 'Attached', status: 'False', reason: 'Pending' },
            ],
          },
        ],
      },
    },
  ],
}
