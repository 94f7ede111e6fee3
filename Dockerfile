# The pages of Ringside, for people who have no Python at hand. `docker build -t ringside .`; see docs/deploy.md.
FROM python:3.11-slim AS build
WORKDIR /build
COPY . .
RUN pip install --no-cache-dir --target /wheels/build "hatchling>=1.27,<2" \
 && PYTHONPATH=/wheels/build python -m hatchling build -t wheel -d /wheels

FROM python:3.11-slim
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /wheels
COPY requirements.lock .
RUN pip install --no-cache-dir --require-hashes -r requirements.lock
COPY --from=build /wheels/*.whl .
RUN pip install --no-cache-dir --no-deps *.whl && rm *.whl && useradd --create-home --uid 10001 ringside
USER ringside
WORKDIR /home/ringside
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
  CMD ["python", "-c", "import os, urllib.request as web; base = os.environ.get('STREAMLIT_SERVER_BASE_URL_PATH', '').strip('/'); web.urlopen(os.path.join('http://127.0.0.1:8501', base, '_stcore/health'), timeout=4)"]
# All addresses of the container, which only its published ports make reachable.
ENTRYPOINT ["ringside", "app", "--address", "0.0.0.0", "--port", "8501"]
