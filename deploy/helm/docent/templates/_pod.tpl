{{- /* The pod, which a Deployment and a StatefulSet share. */ -}}
{{- define "docent.pod" -}}
metadata:
  labels:
    {{- include "docent.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- if or .Values.settings .Values.podAnnotations }}
  annotations:
    {{- if .Values.settings }}
    # Other settings need other pods.
    checksum/settings: {{ include "docent.settings" . | sha256sum }}
    {{- end }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
spec:
  automountServiceAccountToken: false
  # Variables such as DOCENT_PORT would look like settings.
  enableServiceLinks: false
  # The server finishes its requests, for up to five minutes.
  terminationGracePeriodSeconds: 310
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: docent
      image: {{ include "docent.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve]
      env:
        - name: DOCENT_CONFIG
          value: /etc/docent/docent.toml
        - name: DOCENT_METRICS_LISTEN
          value: 0.0.0.0:{{ .Values.metrics.port }}
        {{- if include "docent.isPostgres" . }}
        - name: DOCENT_STORE
          valueFrom:
            secretKeyRef:
              name: {{ include "docent.storeSecret" . }}
              key: {{ .Values.store.postgres.key }}
        {{- end }}
        {{- if .Values.adminPassword.existingSecret }}
        - name: DOCENT_ADMIN_PASSWORD_FILE
          value: /run/secrets/docent-admin/password
        {{- end }}
        {{- if .Values.secretKey.existingSecret }}
        - name: DOCENT_SECRET_KEY_FILE
          value: /run/secrets/docent-key/secrets.key
        {{- end }}
        {{- with .Values.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - name: http
          containerPort: 8080
        - name: metrics
          containerPort: {{ .Values.metrics.port }}
      startupProbe:
        httpGet:
          path: /health/live
          port: http
        periodSeconds: 5
        failureThreshold: {{ mul .Values.startupMinutes 12 }}
      livenessProbe:
        httpGet:
          path: /health/live
          port: http
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet:
          path: /health/ready
          port: http
        periodSeconds: 5
        timeoutSeconds: 5
      lifecycle:
        preStop:
          # Until services have noticed that the pod ends.
          sleep:
            seconds: 5
      {{- with .Values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: state
          mountPath: /var/lib/docent
        - name: temporary
          mountPath: /tmp
        - name: settings
          mountPath: /etc/docent
          readOnly: true
        {{- if .Values.adminPassword.existingSecret }}
        - name: admin-password
          mountPath: /run/secrets/docent-admin
          readOnly: true
        {{- end }}
        {{- if .Values.secretKey.existingSecret }}
        - name: secret-key
          mountPath: /run/secrets/docent-key
          readOnly: true
        {{- end }}
  volumes:
    # For the checks of backups in a bucket: as large as the store.
    - name: temporary
      emptyDir: {}
    - name: settings
      configMap:
        name: {{ include "docent.name" . }}
    {{- if include "docent.isPostgres" . }}
    - name: state
      emptyDir:
        sizeLimit: {{ .Values.searchIndex.sizeLimit }}
    {{- end }}
    {{- if .Values.adminPassword.existingSecret }}
    - name: admin-password
      secret:
        secretName: {{ .Values.adminPassword.existingSecret }}
        defaultMode: 0440
        items:
          - key: {{ .Values.adminPassword.key }}
            path: password
    {{- end }}
    {{- if .Values.secretKey.existingSecret }}
    - name: secret-key
      secret:
        secretName: {{ .Values.secretKey.existingSecret }}
        defaultMode: 0440
        items:
          - key: {{ .Values.secretKey.key }}
            path: secrets.key
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .Values.affinity }}
  affinity:
    {{- toYaml .Values.affinity | nindent 4 }}
  {{- else if include "docent.isPostgres" . }}
  # On different nodes, if there are several.
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "docent.selector" . | nindent 10 }}
  {{- end }}
{{- end -}}
